#include "runtime/collective/channel.h"

#include <algorithm>

#include "runtime/collective/transport_group.h"
#include "runtime/trace/recorder.h"
#include "runtime/trace/step_label.h"

namespace tern {

Channel::Channel(std::shared_ptr<ProcessGroup> group)
    : group_(std::move(group)), transport_group_(dynamic_cast<TransportGroup*>(group_.get())) {}

Channel::~Channel() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  job_added_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t Channel::take_number() {
  const std::lock_guard lock(mutex_);
  // Counts calls made directly on the group while this channel was idle.
  if (jobs_.empty() && transport_group_ != nullptr) number_ = std::max(number_, transport_group_->calls());
  return ++number_;
}

void Channel::record_device_call(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  device_number_ = number;
  if (jobs_.empty() && transport_group_ != nullptr) transport_group_->skip_to(number);
}

std::uint64_t Channel::start(const Collective& call, std::string_view name, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run_jobs(); });
  Job job;
  job.call = call;
  job.name = name;
  job.number = number;
  job.input_splits.assign(call.input_splits.begin(), call.input_splits.end());
  job.output_splits.assign(call.output_splits.begin(), call.output_splits.end());
  job.call.input_splits = job.input_splits;
  job.call.output_splits = job.output_splits;
  jobs_.push_back(std::move(job));  // parts are not moved in memory
  job_added_.notify_one();
  return ++started_;
}

void Channel::wait(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  job_finished_.wait(lock, [&] { return finished_ >= ticket; });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void Channel::settle() noexcept {
  std::unique_lock lock(mutex_);
  job_finished_.wait(lock, [&] { return finished_ == started_; });
}

void Channel::run(const Collective& call, std::string_view name, std::uint64_t number) {
  settle();
  run_traced(call, name, number);
}

void Channel::run_traced(const Collective& call, std::string_view name, std::uint64_t number) {
  const TraceSpan span(EventKind::collective, "record_param_comms", number,
                       [&] { return collective_args(call, name, group_->rank(), group_->size()); });
  if (transport_group_ != nullptr) transport_group_->skip_to(number - 1);
  group_->run(call);
}

void Channel::run_jobs() {
  std::unique_lock lock(mutex_);
  for (;;) {
    job_added_.wait(lock, [&] { return is_closing_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job& job = jobs_.front();  // the job is not moved in memory
    const bool failed = failure_ != nullptr;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!failed) run_traced(job.call, job.name, job.number);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure != nullptr) failure_ = failure;
    jobs_.pop_front();
    ++finished_;
    if (jobs_.empty() && transport_group_ != nullptr) transport_group_->skip_to(device_number_);
    job_finished_.notify_all();
  }
}

}  // namespace tern
