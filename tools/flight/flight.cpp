#include "tools/flight/flight.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "tools/flight/records.h"
#include "tools/text.h"

namespace tern {
namespace {

/// "gloo:all_reduce of [4] Float, at model.py:12, started".
std::string call_text(const FlightCall& c) {
  std::string text =
      fmt::format("{} of [{}] {}", escape_name(c.name), fmt::join(c.input_sizes, ", "), escape_name(c.types));
  if (!c.location.empty()) text += ", at " + escape_name(c.location);
  return text + ", " + escape_name(c.state);
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

bool has_same_signature(const FlightCall& a, const FlightCall& b) {
  return a.name == b.name && a.types == b.types && a.input_sizes == b.input_sizes && a.output_sizes == b.output_sizes;
}

struct RankCall {
  int rank;
  const FlightCall* call;
};

/// State of the ranks of a group.
class GroupReport {
 public:
  /// `recorded_ranks`: the ranks with a record. `calls_of_group`: the calls of all ranks.
  GroupReport(const std::set<int>& recorded_ranks, std::string name, std::vector<int> ranks,
              const std::vector<RankCall>& calls_of_group)
      : recorded_ranks_(recorded_ranks), name_(std::move(name)), ranks_(std::move(ranks)), calls_(calls_of_group) {}

  /// Returns false for any problem.
  bool print() const {
    std::map<std::int64_t, std::map<int, const FlightCall*>> calls;
    std::map<int, std::int64_t> first_number, last_number;
    for (const auto& [rank, call] : calls_) {
      if (call->message) continue;
      calls[call->number][rank] = call;
      first_number.try_emplace(rank, call->number);
      last_number[rank] = std::max(last_number[rank], call->number);
    }
    fmt::print("group '{}' of {} ranks\n", escape_name(name_), ranks_.size());
    std::int64_t common_begin = 0;  // all records contain the calls from `common_begin` on
    for (const auto& [rank, number] : first_number) common_begin = std::max(common_begin, number);
    for (const auto& [number, calls_by_rank] : calls) {
      if (number < common_begin) continue;
      if (print_difference(number, calls_by_rank) || print_waiting(number, calls_by_rank, last_number)) return false;
    }
    const bool has_waiting = print_messages();
    if (!has_waiting) fmt::print("  {} calls of all ranks, all done\n", calls.size());
    return !has_waiting;
  }

 private:
  static bool print_difference(std::int64_t number, const std::map<int, const FlightCall*>& calls_by_rank) {
    const FlightCall& reference = *calls_by_rank.begin()->second;
    const bool is_same = std::ranges::all_of(calls_by_rank, [&](const auto& c) {
      const bool may_differ_in_sizes =
          c.second->name.find("_v") != std::string::npos || c.second->name.ends_with("all_to_all");
      return may_differ_in_sizes ? c.second->name == reference.name : has_same_signature(*c.second, reference);
    });
    if (is_same) return false;
    fmt::print("  call {} differs:\n", number);
    for (const auto& [rank, call] : calls_by_rank) fmt::print("    rank {}: {}\n", rank, call_text(*call));
    return true;
  }
  bool print_waiting(std::int64_t number, const std::map<int, const FlightCall*>& calls_by_rank,
                     const std::map<int, std::int64_t>& last_number) const {
    std::vector<int> waiting_ranks, absent_ranks;
    for (const int r : ranks_) {
      const auto found = calls_by_rank.find(r);
      if (found == calls_by_rank.end()) absent_ranks.push_back(r);
      if (found != calls_by_rank.end() && found->second->state != "completed") waiting_ranks.push_back(r);
    }
    if (waiting_ranks.empty()) return false;
    fmt::print("  call {}: {}\n", number, call_text(*calls_by_rank.at(waiting_ranks.front())));
    fmt::print("    {} {}{}\n", ranks_text(waiting_ranks), waiting_ranks.size() == 1 ? "waits" : "wait",
               absent_ranks.empty() ? "; all ranks have made the call" : " for " + ranks_text(absent_ranks));
    for (const int r : absent_ranks) {
      const auto found = last_number.find(r);
      if (!recorded_ranks_.contains(r)) {
        fmt::print("    rank {} wrote no record\n", r);
      } else {
        fmt::print("    rank {} has made {} calls\n", r, found == last_number.end() ? 0 : found->second);
      }
    }
    return true;
  }
  bool print_messages() const {
    bool has_waiting = false;
    for (const auto& [rank, call] : calls_) {
      if (!call->message || call->state == "completed") continue;
      fmt::print("  rank {} waits in message {}: {}\n", rank, call->number, call_text(*call));
      has_waiting = true;
    }
    return has_waiting;
  }

  const std::set<int>& recorded_ranks_;
  std::string name_;
  std::vector<int> ranks_;
  const std::vector<RankCall>& calls_;
};

}  // namespace

int run_flight(const std::string& folder) {
  const std::vector<FlightRecord> records = read_flight_records(folder);
  std::map<std::string, std::vector<int>> groups;
  std::map<std::string, std::vector<RankCall>> calls_of_groups;
  std::set<int> recorded_ranks;
  for (const FlightRecord& r : records) {
    groups.insert(r.groups.begin(), r.groups.end());
    recorded_ranks.insert(r.rank);
    for (const FlightCall& c : r.calls) calls_of_groups[c.group].push_back({r.rank, &c});
  }
  bool is_complete = true;
  for (const auto& [name, ranks] : groups)
    is_complete = GroupReport(recorded_ranks, name, ranks, calls_of_groups[name]).print() && is_complete;
  return is_complete ? 0 : 1;
}

}  // namespace tern
