// A group's calls that run beside computation: one thread makes them in the order in which they were started.
#pragma once

#include <tern/collective.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tern {

class Channel {
 public:
  explicit Channel(std::shared_ptr<ProcessGroup> group) : group_(std::move(group)) {}
  /// Ends the calls that have been started.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const std::shared_ptr<ProcessGroup>& group() const { return group_; }
  /// Memory stays until `wait` of the ticket has returned. Parts are copied.
  std::uint64_t start(const Collective& call);
  /// Throws what the call, or one before it, has failed with.
  void wait(std::uint64_t ticket);
  /// Waits until nothing runs; then the caller may use the group.
  void settle() noexcept;

 private:
  struct Job {
    Collective call;
    std::vector<std::int64_t> in_parts, out_parts;
  };
  void work();

  std::shared_ptr<ProcessGroup> group_;
  std::mutex mutex_;
  std::condition_variable begun_, done_;
  std::deque<Job> jobs_;
  std::uint64_t started_ = 0, finished_ = 0;
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tern
