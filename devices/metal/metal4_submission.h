// Metal 4 command buffers committed together; feedback reports their result.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "devices/metal/commands.h"

namespace tern::metal {

/// Written by Metal on its own thread.
struct Feedback {
  std::mutex mutex;
  std::condition_variable arrival;
  bool arrived = false;
  std::string error;
  Submission::Times times{};
};

class Metal4Submission : public Submission {
 public:
  /// `done` becomes `value` after the commands.
  Metal4Submission(Owned<MTL::SharedEvent> done, std::uint64_t value, std::shared_ptr<Feedback> feedback)
      : completion_event_(std::move(done)), value_(value), feedback_(std::move(feedback)) {}

  void wait() override {
    // After a GPU failure the event is never signalled.
    constexpr std::uint64_t kMilliseconds = 1000;
    while (!arrived() && !completion_event_->waitUntilSignaledValue(value_, kMilliseconds)) {
    }
    feedback();
  }
  bool finished() override { return arrived() || completion_event_->signaledValue() >= value_; }
  std::string error() override { return feedback().error; }
  Times times() override { return feedback().times; }

 private:
  bool arrived() {
    const std::lock_guard lock(feedback_->mutex);
    return feedback_->arrived;
  }
  /// Arrives with the signal or soon after.
  const Feedback& feedback() {
    std::unique_lock lock(feedback_->mutex);
    feedback_->arrival.wait(lock, [&] { return feedback_->arrived; });
    return *feedback_;
  }

  Owned<MTL::SharedEvent> completion_event_;
  std::uint64_t value_;
  std::shared_ptr<Feedback> feedback_;
};

}  // namespace tern::metal
