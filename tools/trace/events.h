// A trace prepared for the summary: spans on the host's threads and the devices' streams.
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
  bool waits = false;  ///< the call waits for the device
  NameId name = 0, op = 0, module = 0, annotation = 0, group = 0, collective = 0;
  std::int64_t process = 0, thread = 0;
  double begin = 0, duration = 0;
  std::int64_t external = 0, correlation = 0, sequence = -1;
  double flops = 0, bytes = 0;

  double end() const { return begin + duration; }
  bool is_on_device() const { return kind == Kind::kernel || kind == Kind::copy; }
};

struct LoadedTrace {
  std::vector<TracedSpan> spans;  ///< ordered by begin; equal begins: longest first
  std::vector<std::string> names = {""};
  std::uint64_t events = 0, skipped = 0, dropped = 0;  ///< events in the file; events without usable times; events
                                                       ///< dropped by Tern
  std::int64_t rank = -1, world_size = 1;              ///< -1: unknown
  bool is_merged = false;                              ///< the file holds several ranks (merge.h)

  /// Range of process numbers of each rank in a merged trace.
  static constexpr std::int64_t kProcessesOfRank = 100'000'000;
  /// Rank of a process; 0 in a trace of a single rank.
  std::int64_t rank_of(std::int64_t process) const { return is_merged && process > 0 ? process / kProcessesOfRank : 0; }
  const std::string& name(NameId id) const { return names[id]; }
};

/// Fails with bad_file, at a byte, or io.
LoadedTrace load_trace(const std::string& path);
/// The same of a stream, for tests.
LoadedTrace load_trace(std::istream& text, const std::string& name);

/// A member of the event's "args"; null if missing.
const nlohmann::json* trace_arg(const nlohmann::json& event, const char* key);
/// The integer, or `otherwise`; also reads texts of digits, and never overflows.
std::int64_t trace_integer(const nlohmann::json* value, std::int64_t otherwise);
/// The number; NaN for other values.
double trace_number(const nlohmann::json& event, const char* key);

}  // namespace tern
