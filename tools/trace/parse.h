// Reads a Chrome trace event by event: {"traceEvents": [...], ...} in the format of PyTorch's profiler and Tern, or a
// plain array. Safe on any bytes: depth and size of kept data are bounded.
#pragma once

#include <functional>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>

namespace tern {

struct TraceParse {
  static constexpr std::size_t kMaxDepth = 64;  ///< depth of nested values
  /// Limit for the values of an event, and for the data beside the events. A text counts once more for each 64 bytes.
  static constexpr std::size_t kMaxValues = std::size_t{1} << 20;
  static constexpr std::size_t kMaxTokenBytes = std::size_t{64} << 20;  ///< a text or number, with spaces before
  std::function<void(nlohmann::json&&)> on_event;                       ///< each object of "traceEvents"
};

/// Returns the data beside "traceEvents"; an empty object for an array. `name` is the file's name in errors (code
/// bad_file, with the byte offset).
nlohmann::json parse_trace(std::istream& text, const std::string& name, const TraceParse& parse);
/// Reads a file, compressed or not.
nlohmann::json parse_trace_file(const std::string& path, const TraceParse& parse);

}  // namespace tern
