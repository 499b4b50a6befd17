#include "runtime/collective/channel.h"

namespace tern {

Channel::~Channel() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  begun_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t Channel::start(const Collective& call) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_.emplace_back();
  job.call = call;
  job.in_parts.assign(call.in_parts.begin(), call.in_parts.end());
  job.out_parts.assign(call.out_parts.begin(), call.out_parts.end());
  job.call.in_parts = job.in_parts;
  job.call.out_parts = job.out_parts;
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  begun_.notify_one();
  return ++started_;
}

void Channel::wait(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ >= ticket; });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void Channel::settle() noexcept {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ == started_; });
}

void Channel::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Collective call = jobs_.front().call;  // the parts stay with the job
    const bool failed = failure_ != nullptr;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!failed) group_->run(call);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure != nullptr) failure_ = failure;
    jobs_.pop_front();
    ++finished_;
    done_.notify_all();
  }
}

}  // namespace tern
