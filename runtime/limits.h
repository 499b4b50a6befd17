// Limits of a run: time and memory allowed by PrepareOptions, and cancellation.
#pragma once

#include <tern/tern.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "runtime/memory.h"

namespace tern {

class RunLimits {
 public:
  /// Starts the clock of a run.
  void start(const PrepareOptions& options);
  /// Fails with ErrorCode::runtime after PrepareOptions::max_seconds. Throws Cancelled after cancellation of the
  /// thread's CancelScope token.
  void check_time() const {
    if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) throw_cancelled();
    if (deadline_) fail_beyond_deadline();
  }
  /// Fails with ErrorCode::runtime before loop iteration `number` (from 0) beyond PrepareOptions::max_iterations.
  static void check_iteration(const PrepareOptions& options, std::int64_t number) {
    if (options.max_iterations > 0 && number >= options.max_iterations) fail_beyond_iterations(options);
  }
  /// Grows the buffer to at least so many bytes. Fails with ErrorCode::out_of_memory if all buffers together would
  /// exceed PrepareOptions::max_memory.
  void reserve(Buffer& buffer, std::uint64_t bytes, const PrepareOptions& options, Device& device, DeviceStream* user);
  /// Fails like reserve() if `bytes` more bytes would not fit.
  void check_memory(std::uint64_t bytes, const PrepareOptions& options) const;

 private:
  [[noreturn]] static void throw_cancelled();
  void fail_beyond_deadline() const;
  [[noreturn]] static void fail_beyond_iterations(const PrepareOptions& options);

  std::optional<std::chrono::steady_clock::time_point> deadline_;
  const std::atomic<bool>* cancelled_ = nullptr;
  double seconds_ = 0;
  std::uint64_t used_ = 0;  ///< total bytes of all buffers
};

}  // namespace tern
