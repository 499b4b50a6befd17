// A trace as its summary wants it: spans on the host's threads and the devices' streams.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace tern {

using NameId = std::uint32_t;  ///< 0: empty

/// Times are microseconds.
struct TracedSpan {
  enum class Kind : std::uint8_t { op, run, annotation, module, call, overhead, kernel, copy };
  Kind kind = Kind::op;
  bool finished = true;
  bool waits = false;  ///< a call that waits for the device
  NameId name = 0, module = 0, annotation = 0, group = 0, collective = 0;
  std::int64_t process = 0, thread = 0;
  double begin = 0, duration = 0;
  std::int64_t external = 0, correlation = 0, sequence = -1;
  double flops = 0, bytes = 0;

  double end() const { return begin + duration; }
  bool on_device() const { return kind == Kind::kernel || kind == Kind::copy; }
};

struct LoadedTrace {
  std::vector<TracedSpan> spans;  ///< in the order of their begins; those that begin together, the longest first
  std::vector<std::string> names = {""};
  std::uint64_t events = 0, skipped = 0, dropped = 0;  ///< in the file; without usable times; that Tern could not keep
  std::int64_t rank = -1, world_size = 1;              ///< -1: it does not say
  bool is_merged = false;                              ///< the file holds several ranks (merge.h)

  /// Numbers of processes that a merged trace has for each rank.
  static constexpr std::int64_t kProcessesOfRank = 100'000'000;
  /// 0 where the trace is of one rank.
  std::int64_t rank_of(std::int64_t process) const { return is_merged && process > 0 ? process / kProcessesOfRank : 0; }
  const std::string& name(NameId id) const { return names[id]; }
};

/// Fails with bad_file, at a byte, or io.
LoadedTrace load_trace(const std::string& path);
/// The same of a stream, for tests.
LoadedTrace load_trace(std::istream& text, const std::string& name);

/// A member of the event's "args"; null where there is none.
const nlohmann::json* trace_arg(const nlohmann::json& event, const char* key);
/// The integer, or `otherwise`: also for texts of digits, and never out of range.
std::int64_t trace_integer(const nlohmann::json* value, std::int64_t otherwise);
/// The number; NaN where it is none.
double trace_number(const nlohmann::json& event, const char* key);

}  // namespace tern
