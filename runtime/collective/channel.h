// Runs a group's calls beside computation: one thread makes the calls in their start order. Traces show each call on
// that thread, from begin to end.
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
  /// Ends the started calls.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  const std::shared_ptr<ProcessGroup>& group() const { return group_; }
  /// Sequence number of the next call. Equal on all ranks; the flight recorder stores the number.
  std::uint64_t take_number();
  /// Marks the call of this number as made by the device.
  void record_device_call(std::uint64_t number);
  /// Memory and `name` (the group's name in the program) must stay valid until `wait` for the ticket returns. Parts are
  /// copied.
  std::uint64_t start(const Collective& call, std::string_view name, std::uint64_t number);
  /// Makes a call on the calling thread after all started calls have finished.
  void run(const Collective& call, std::string_view name, std::uint64_t number);
  /// Rethrows the failure of this call or of an earlier call.
  void wait(std::uint64_t ticket);
  /// Waits until no call runs; afterwards the caller may use the group.
  void settle() noexcept;

 private:
  struct Job {
    Collective call;
    std::string_view name;
    std::uint64_t number = 0;
    std::vector<std::int64_t> input_splits, output_splits;
  };
  void run_jobs();
  void run_traced(const Collective& call, std::string_view name, std::uint64_t number);

  std::shared_ptr<ProcessGroup> group_;
  TransportGroup* const transport_group_;  ///< the group; null for groups implemented by the application
  std::mutex mutex_;
  std::condition_variable job_added_, job_finished_;
  std::deque<Job> jobs_;
  std::uint64_t started_ = 0, finished_ = 0, number_ = 0;
  std::uint64_t device_number_ = 0;  ///< the last call made by a device
  std::exception_ptr failure_;
  bool is_closing_ = false;
  std::thread thread_;
};

}  // namespace tern
