#include "devices/gpu/libraries/communication.h"

#include <chrono>
#include <thread>

#include "devices/gpu/libraries/nccl.h"
#include "devices/gpu/status.h"
#include "nccl_names.h"

namespace tern::gpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kCallTimeout = std::chrono::minutes(10);  // timeout after all ranks have announced their arrival
constexpr auto kLeaveTimeout = std::chrono::seconds(5);
constexpr auto kPollInterval = std::chrono::microseconds(20);

std::string error_message(const char* what, int error) {
  return std::string(what) + ": " + names::kNccl + ": " + nccl().api.text(error) + " (" + std::to_string(error) + ")";
}

}  // namespace

std::string Communication::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Communication::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = reason;
  if (comm != nullptr) nccl().api.abort(comm);
  comm = nullptr;
}

tern_device_status Communication::call(const char* what, const std::function<int()>& start) {
  const Clock::time_point deadline = Clock::now() + kCallTimeout;
  bool is_started = false;
  for (;;) {
    int state = kNcclSuccess;
    {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return failed(TERN_DEVICE_FAILED, failure_);
      int error = kNcclSuccess;
      if (!is_started) error = start();
      is_started = true;
      if (error == kNcclSuccess || error == kNcclInProgress) error = nccl().api.state(comm, &state);
      if (error != kNcclSuccess) state = error;
    }
    if (state == kNcclSuccess) return TERN_DEVICE_OK;
    std::string reason;
    if (state != kNcclInProgress) reason = error_message(what, state);
    if (reason.empty() && Clock::now() >= deadline)
      reason = std::string(what) + ": " + names::kNccl + " takes too long";
    if (!reason.empty()) {
      abort(reason);
      return failed(TERN_DEVICE_FAILED, reason);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

void Communication::leave() {
  const Clock::time_point deadline = Clock::now() + kLeaveTimeout;
  const std::lock_guard lock(mutex_);
  failure_.clear();  // streams continue without the group
  if (comm == nullptr) return;
  const NcclApi& api = nccl().api;
  int state = api.finalize(comm);
  while ((state == kNcclSuccess || state == kNcclInProgress) && Clock::now() < deadline) {
    if (api.state(comm, &state) != kNcclSuccess || state != kNcclInProgress) break;
    std::this_thread::sleep_for(kPollInterval);
  }
  if (state == kNcclSuccess) {
    api.destroy(comm);
  } else {
    api.abort(comm);
  }
  comm = nullptr;
}

}  // namespace tern::gpu
