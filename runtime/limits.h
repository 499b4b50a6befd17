// What PrepareOptions lets a run take: time and memory.
#pragma once

#include <tern/tern.h>

#include <chrono>
#include <optional>

#include "runtime/memory.h"

namespace tern {

class RunLimits {
 public:
  /// A run begins now.
  void start(const PrepareOptions& options);
  /// Fails with ErrorCode::runtime once the run has taken longer than PrepareOptions::max_seconds.
  void check_time() const {
    if (deadline_) fail_beyond_deadline();
  }
  /// Fails with ErrorCode::runtime before iteration `number` (from 0) of a loop beyond PrepareOptions::max_iterations.
  static void check_iteration(const PrepareOptions& options, std::int64_t number) {
    if (options.max_iterations > 0 && number >= options.max_iterations) fail_beyond_iterations(options);
  }
  /// Gives the buffer at least so many bytes. Fails with ErrorCode::out_of_memory where all buffers together would
  /// exceed PrepareOptions::max_memory.
  void reserve(Buffer& buffer, std::uint64_t bytes, const PrepareOptions& options, Device& device);
  /// Fails like reserve() where `bytes` more would not fit.
  void check_memory(std::uint64_t bytes, const PrepareOptions& options) const;

 private:
  void fail_beyond_deadline() const;
  [[noreturn]] static void fail_beyond_iterations(const PrepareOptions& options);

  std::optional<std::chrono::steady_clock::time_point> deadline_;
  double seconds_ = 0;
  std::uint64_t used_ = 0;  ///< bytes of all buffers
};

}  // namespace tern
