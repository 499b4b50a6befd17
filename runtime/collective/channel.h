// A group's calls that run beside computation: one thread makes them in the order in which they were started. Traces
// have each call where it is made, from its begin to its end.
#pragma once

#include <tern/collective.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace tern {

class TransportGroup;

class Channel {
 public:
  explicit Channel(std::shared_ptr<ProcessGroup> group);
  /// Ends the calls that have been started.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const std::shared_ptr<ProcessGroup>& group() const { return group_; }
  /// Of the next call, the same on all ranks, and the flight recorder's.
  std::uint64_t take_number();
  /// The call of this number is the device's.
  void on_device(std::uint64_t number);
  /// Memory and `name`, of the group in the program, stay until `wait` of the ticket has returned. Parts are copied.
  std::uint64_t start(const Collective& call, std::string_view name, std::uint64_t number);
  /// Makes a call on this thread, when all that were started are done.
  void run(const Collective& call, std::string_view name, std::uint64_t number);
  /// Throws what the call, or one before it, has failed with.
  void wait(std::uint64_t ticket);
  /// Waits until nothing runs; then the caller may use the group.
  void settle() noexcept;

 private:
  struct Job {
    Collective call;
    std::string_view name;
    std::uint64_t number = 0;
    std::vector<std::int64_t> in_parts, out_parts;
  };
  void work();
  void make(const Collective& call, std::string_view name, std::uint64_t number);

  std::shared_ptr<ProcessGroup> group_;
  TransportGroup* const counts_;  ///< the group; null where it is the application's own
  std::mutex mutex_;
  std::condition_variable begun_, done_;
  std::deque<Job> jobs_;
  std::uint64_t started_ = 0, finished_ = 0, number_ = 0;
  std::uint64_t device_number_ = 0;  ///< of the last call that a device has made
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tern
