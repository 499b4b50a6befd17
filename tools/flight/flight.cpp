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
std::string text_of(const FlightCall& c) {
  std::string text = fmt::format("{} of [{}] {}", escape_name(c.name), fmt::join(c.in, ", "), escape_name(c.types));
  if (!c.place.empty()) text += ", at " + escape_name(c.place);
  return text + ", " + escape_name(c.state);
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

bool is_alike(const FlightCall& a, const FlightCall& b) {
  return a.name == b.name && a.types == b.types && a.in == b.in && a.out == b.out;
}

struct RankCall {
  int rank;
  const FlightCall* call;
};

/// State of the ranks of a group.
class GroupReport {
 public:
  /// `known`: the ranks with a record. `made`: the calls of the group.
  GroupReport(const std::set<int>& known, std::string name, std::vector<int> ranks, const std::vector<RankCall>& made)
      : known_(known), name_(std::move(name)), ranks_(std::move(ranks)), made_(made) {}

  /// Returns false for any problem.
  bool print() const {
    std::map<std::int64_t, std::map<int, const FlightCall*>> calls;
    std::map<int, std::int64_t> first, last;
    for (const auto& [rank, call] : made_) {
      if (call->message) continue;
      calls[call->number][rank] = call;
      first.try_emplace(rank, call->number);
      last[rank] = std::max(last[rank], call->number);
    }
    fmt::print("group '{}' of {} ranks\n", escape_name(name_), ranks_.size());
    std::int64_t begin = 0;  // all records contain the calls from `begin` on
    for (const auto& [rank, number] : first) begin = std::max(begin, number);
    for (const auto& [number, by_rank] : calls) {
      if (number < begin) continue;
      if (print_difference(number, by_rank) || print_waiting(number, by_rank, last)) return false;
    }
    const bool waits = print_messages();
    if (!waits) fmt::print("  {} calls of all ranks, all done\n", calls.size());
    return !waits;
  }

 private:
  static bool print_difference(std::int64_t number, const std::map<int, const FlightCall*>& by_rank) {
    const FlightCall& reference = *by_rank.begin()->second;
    const bool same = std::ranges::all_of(by_rank, [&](const auto& c) {
      const bool parts = c.second->name.find("_v") != std::string::npos || c.second->name.ends_with("all_to_all");
      return parts ? c.second->name == reference.name : is_alike(*c.second, reference);
    });
    if (same) return false;
    fmt::print("  call {} differs:\n", number);
    for (const auto& [rank, call] : by_rank) fmt::print("    rank {}: {}\n", rank, text_of(*call));
    return true;
  }
  bool print_waiting(std::int64_t number, const std::map<int, const FlightCall*>& by_rank,
                     const std::map<int, std::int64_t>& last) const {
    std::vector<int> waiting, absent;
    for (const int r : ranks_) {
      const auto found = by_rank.find(r);
      if (found == by_rank.end()) absent.push_back(r);
      if (found != by_rank.end() && found->second->state != "completed") waiting.push_back(r);
    }
    if (waiting.empty()) return false;
    fmt::print("  call {}: {}\n", number, text_of(*by_rank.at(waiting.front())));
    fmt::print("    {} {}{}\n", ranks_text(waiting), waiting.size() == 1 ? "waits" : "wait",
               absent.empty() ? "; all ranks have made the call" : " for " + ranks_text(absent));
    for (const int r : absent) {
      const auto found = last.find(r);
      if (!known_.contains(r)) {
        fmt::print("    rank {} wrote no record\n", r);
      } else {
        fmt::print("    rank {} has made {} calls\n", r, found == last.end() ? 0 : found->second);
      }
    }
    return true;
  }
  bool print_messages() const {
    bool waits = false;
    for (const auto& [rank, call] : made_) {
      if (!call->message || call->state == "completed") continue;
      fmt::print("  rank {} waits in message {}: {}\n", rank, call->number, text_of(*call));
      waits = true;
    }
    return waits;
  }

  const std::set<int>& known_;
  std::string name_;
  std::vector<int> ranks_;
  const std::vector<RankCall>& made_;
};

}  // namespace

int run_flight(const std::string& folder) {
  const std::vector<FlightRecord> records = read_flight_records(folder);
  std::map<std::string, std::vector<int>> groups;
  std::map<std::string, std::vector<RankCall>> made;
  std::set<int> known;
  for (const FlightRecord& r : records) {
    groups.insert(r.groups.begin(), r.groups.end());
    known.insert(r.rank);
    for (const FlightCall& c : r.calls) made[c.group].push_back({r.rank, &c});
  }
  bool good = true;
  for (const auto& [name, ranks] : groups) good = GroupReport(known, name, ranks, made[name]).print() && good;
  return good ? 0 : 1;
}

}  // namespace tern
