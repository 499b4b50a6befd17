#include "runtime/limits.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <string>

#include "runtime/cancel.h"

namespace tern {

void RunLimits::start(const PrepareOptions& options) {
  deadline_.reset();
  cancelled_ = cancel_flag();
  seconds_ = options.max_seconds;
  constexpr double kForever = 1e9;  // about 31 years, still representable as a duration
  if (seconds_ <= 0 || seconds_ >= kForever) return;
  deadline_ = std::chrono::steady_clock::now() +
              std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds_));
}

void RunLimits::throw_cancelled() {
  throw Cancelled("the run was cancelled");
}

void RunLimits::fail_beyond_deadline() const {
  if (std::chrono::steady_clock::now() < *deadline_) return;
  fail(
      ErrorCode::runtime,
      fmt::format("the run took longer than its limit of {} s (PrepareOptions::max_seconds, --max-seconds)", seconds_));
}

void RunLimits::fail_beyond_iterations(const PrepareOptions& options) {
  fail(ErrorCode::runtime, "the loop did not end after " + std::to_string(options.max_iterations) +
                               " iterations (PrepareOptions::max_iterations, --max-iterations)");
}

void RunLimits::check_memory(std::uint64_t bytes, const PrepareOptions& options) const {
  if (options.max_memory == 0 || (used_ <= options.max_memory && bytes <= options.max_memory - used_)) return;
  fail(ErrorCode::out_of_memory, "the run needs " + std::to_string(bytes) + " bytes beyond the " +
                                     std::to_string(used_) + " that it has, and its limit is " +
                                     std::to_string(options.max_memory) +
                                     " bytes (PrepareOptions::max_memory, --max-memory)");
}

void RunLimits::reserve(Buffer& buffer, std::uint64_t bytes, const PrepareOptions& options, Device& device,
                        DeviceStream* user) {
  const std::uint64_t before = buffer.size();
  if (buffer.data() != nullptr && bytes <= before) return;
  check_memory(bytes - before, options);
  used_ -= before;  // a failed reservation leaves the buffer empty
  buffer.reserve(bytes, device, user);
  used_ += buffer.size();
}

}  // namespace tern
