#include "tools/trace/merge.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "exporter/tune/verdict.h"
#include "runtime/trace/file.h"
#include "tools/text.h"
#include "tools/trace/events.h"
#include "tools/trace/parse.h"

namespace tern {
namespace {

using nlohmann::json;

/// Group, number, name; in traces without numbers, the count of earlier collectives with this name in this group.
using CollectiveKey = std::tuple<std::string, std::int64_t, std::string>;
struct CollectiveTime {
  double begin = 0, end = 0;
  std::int64_t process = 0, thread = 0;
};

struct Rank {
  std::string path;
  LoadedTrace trace;
  std::map<CollectiveKey, CollectiveTime> collectives;
  double offset = 0;  ///< microseconds added to the rank's times
};

/// Collectives of a trace. The same call may occur as an event of the host and as kernels: only the host's event has
/// the number.
std::map<CollectiveKey, CollectiveTime> collectives_of(const LoadedTrace& trace) {
  std::map<CollectiveKey, CollectiveTime> collectives;
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  const bool has_numbers =
      std::ranges::any_of(trace.spans, [](const TracedSpan& s) { return s.collective != 0 && s.sequence >= 0; });
  for (const TracedSpan& s : trace.spans) {
    if (s.collective == 0 || (has_numbers && s.sequence < 0)) continue;
    const std::string &group = trace.name(s.group), &name = trace.name(s.collective);
    const std::int64_t number = has_numbers ? s.sequence : counts[{group, name}]++;
    CollectiveTime& t = collectives[{group, number, name}];
    if (t.end >= s.end()) continue;
    t = {s.begin, s.end(), s.process, s.thread};
  }
  return collectives;
}

Rank read_rank(const std::string& path) {
  Rank r;
  r.path = path;
  r.trace = load_trace(path);
  r.collectives = collectives_of(r.trace);
  return r;
}

constexpr std::int64_t kProcessesPerRank = LoadedTrace::kProcessesOfRank;
constexpr std::int64_t kMergeMaxRank = 1 << 20;

/// The text of a member; empty if missing or not a text.
std::string text_member(const json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// Moves processes to the rank's range of numbers.
void move_to_rank(json& event, std::int64_t rank, double offset) {
  if (const auto ts = event.find("ts"); ts != event.end() && ts->is_number()) *ts = ts->get<double>() + offset;
  if (const auto pid = event.find("pid"); pid != event.end()) {
    if (pid->is_number_integer()) *pid = rank * kProcessesPerRank + trace_integer(&*pid, 0) % kProcessesPerRank;
    if (pid->is_string()) *pid = fmt::format("rank {}: {}", rank, pid->get<std::string>());
  }
  // Renumbers flows, because each file has its own numbers.
  if (const auto id = event.find("id"); id != event.end())
    *id = fmt::format("{}.{}", rank, id->is_string() ? id->get<std::string>() : id->dump());
  if (text_member(event, "ph") != "M" || !event.contains("args") || !event["args"].is_object()) return;
  json& args = event["args"];
  const std::string name = text_member(event, "name");
  if (name == "process_name" && args.contains("name") && args["name"].is_string())
    args["name"] = fmt::format("rank {}: {}", rank, args["name"].get<std::string>());
  if (name == "process_sort_index" && args.contains("sort_index"))
    args["sort_index"] = rank * kProcessesPerRank + trace_integer(&args["sort_index"], 0) % kProcessesPerRank;
}

std::string dump_json(const json& event) {
  return event.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

MergedTrace merge_traces(const std::vector<std::string>& paths, const std::string& output) {
  if (paths.size() < 2) fail(ErrorCode::invalid_argument, "merge needs two or more traces");
  std::vector<Rank> ranks;
  MergedTrace merged;
  std::set<std::int64_t> seen_ranks;
  for (const std::string& path : paths) {
    ranks.push_back(read_rank(path));
    const std::int64_t recorded_rank = ranks.back().trace.rank;
    const std::int64_t rank = recorded_rank >= 0 ? recorded_rank : static_cast<std::int64_t>(ranks.size() - 1);
    if (rank > kMergeMaxRank)
      fail(ErrorCode::bad_file, fmt::format("{}: \"distributedInfo\" has rank {}; at most {} is supported",
                                            escape_name(path), rank, kMergeMaxRank));
    if (!seen_ranks.insert(rank).second)
      fail(ErrorCode::invalid_argument, fmt::format("{}: rank {} occurs twice", escape_name(path), rank));
    merged.ranks.push_back(rank);
  }
  // Joins by number the collectives present on every rank.
  std::vector<CollectiveKey> common;
  for (const auto& entry : ranks[0].collectives) {
    const CollectiveKey& key = entry.first;
    if (std::ranges::all_of(ranks, [&](const Rank& r) { return r.collectives.contains(key); })) common.push_back(key);
  }
  for (Rank& r : ranks) {
    std::vector<double> differences;
    for (const CollectiveKey& key : common)
      differences.push_back(ranks[0].collectives.at(key).end - r.collectives.at(key).end);
    r.offset = median(differences);
    merged.offsets.push_back(r.offset);
    for (const double d : differences) merged.residual = std::max(merged.residual, std::abs(d - r.offset));
  }
  TraceFile file(output);
  file.write("{\"schemaVersion\": 1, \"traceEvents\": [\n");
  json first_members;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const TraceParse parse{[&](json&& event) {
      move_to_rank(event, merged.ranks[i], ranks[i].offset);
      file.write((merged.events++ > 0 ? ",\n" : "") + dump_json(event));
    }};
    json other_members = parse_trace_file(ranks[i].path, parse);
    if (i == 0) first_members = std::move(other_members);
  }
  std::int64_t flow = 0;
  for (const CollectiveKey& key : common) {
    const auto& [group, number, name] = key;
    JoinedCollective joined{group, name, number, 0, 0};
    double first_begin = 0, last_begin = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const CollectiveTime& t = ranks[i].collectives.at(key);
      const double begin = t.begin + ranks[i].offset;
      if (i == 0 || begin > last_begin) last_begin = begin, joined.last = i;
      if (i == 0 || begin < first_begin) first_begin = begin;
      const json event = {{"ph", i == 0                  ? "s"
                                 : i + 1 == ranks.size() ? "f"
                                                         : "t"},
                          {"cat", "collective"},
                          {"name", fmt::format("{} {} of group {}", name, number, group)},
                          {"id", fmt::format("collective.{}", flow)},
                          {"pid", merged.ranks[i] * kProcessesPerRank + t.process % kProcessesPerRank},
                          {"tid", t.thread},
                          {"ts", begin},
                          {"bp", "e"}};
      file.write((merged.events++ > 0 ? ",\n" : "") + dump_json(event));
    }
    ++flow;
    joined.waited = last_begin - first_begin;
    merged.collectives.push_back(std::move(joined));
  }
  file.write("\n]");
  first_members.erase("traceEvents");
  first_members.erase("distributedInfo");
  first_members.erase("schemaVersion");
  first_members["merged_ranks"] = merged.ranks;
  for (const auto& [key, value] : first_members.items())
    file.write(",\n" + dump_json(json(key)) + ": " + dump_json(value));
  file.write("}\n");
  file.commit();
  return merged;
}

}  // namespace tern
