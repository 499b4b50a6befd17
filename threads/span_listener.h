// Reports spans of rare work in lower folders (hash checks) to the tracer. Without a listener: one relaxed load.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace tern {

/// Nanoseconds on the clock of all host times in traces.
inline std::uint64_t steady_nanoseconds() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

/// Called on the working thread, from any number of threads. `what` is a literal: "hash check".
using SpanListener = void (*)(const char* what, const std::string& subject, std::uint64_t bytes, std::uint64_t begin,
                              std::uint64_t end);
inline std::atomic<SpanListener> span_listener = nullptr;

/// Reports its own lifetime as a span.
class ListenedSpan {
 public:
  ListenedSpan(const char* what, const std::string& subject, std::uint64_t bytes)
      : operation_(what), subject_(subject), bytes_(bytes), listener_(span_listener.load(std::memory_order_relaxed)) {
    if (listener_ != nullptr) begin_ = steady_nanoseconds();
  }
  ~ListenedSpan() {
    if (listener_ != nullptr) listener_(operation_, subject_, bytes_, begin_, steady_nanoseconds());
  }
  ListenedSpan(const ListenedSpan&) = delete;
  ListenedSpan& operator=(const ListenedSpan&) = delete;

 private:
  const char* operation_;
  const std::string& subject_;
  std::uint64_t bytes_, begin_ = 0;
  SpanListener listener_;
};

}  // namespace tern
