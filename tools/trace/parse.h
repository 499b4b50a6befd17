// Reads a Chrome trace event by event: {"traceEvents": [...], ...} as PyTorch's profiler and Tern write it, or the
// array alone. Safe on any bytes: depth and size of what is kept are bounded.
#pragma once

#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

namespace tern {

struct TraceParse {
  static constexpr std::size_t kMostDepth = 64;  ///< of nested values
  /// Values of one event, and of all that is beside the events. A text counts once more for each 64 bytes.
  static constexpr std::size_t kMostValues = std::size_t{1} << 20;
  static constexpr std::size_t kMostTokenBytes = std::size_t{64} << 20;  ///< a text or number, with spaces before
  std::function<void(nlohmann::json&&)> on_event;                        ///< each object of "traceEvents"
};

/// Returns what stands beside "traceEvents"; an empty object for an array. `name` is the file's, for errors, which are
/// of code bad_file and say at which byte.
nlohmann::json parse_trace(std::istream& text, const std::string& name, const TraceParse& parse);
/// Of a file, compressed or not.
nlohmann::json parse_trace_file(const std::string& path, const TraceParse& parse);

}  // namespace tern
