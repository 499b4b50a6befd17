// A group over a transport: numbers, checks and records calls, runs their algorithms, and explains failures.
#pragma once

#include <tern/collective.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/collective/algorithms.h"
#include "runtime/collective/divider.h"
#include "runtime/collective/transport.h"
#include "runtime/collective/watch.h"

namespace tern {

class TransportGroup : public ProcessGroup {
 public:
  struct Identity {
    int rank, size;
    std::string engine, name;
    std::chrono::milliseconds timeout;
  };
  TransportGroup(Identity identity, std::unique_ptr<Transport> transport, std::unique_ptr<Watch> watch,
                 std::unique_ptr<Divider> divider);
  ~TransportGroup() override;
  int rank() const override { return identity_.rank; }
  int size() const override { return identity_.size; }
  void run(const Collective& call) override;
  void run_batch(std::span<const Collective> calls) override;
  void abort(const std::string& why) noexcept override;
  /// Like abort, with a complete message.
  void stop(const std::string& why) noexcept;
  /// Number of collectives so far: the flight recorder's number of the last call.
  std::uint64_t calls() const { return calls_; }
  /// Counts calls up to this number as made, by this group or by devices. The group must be idle.
  void skip_to(std::uint64_t number) { calls_ = std::max(calls_, number); }
  /// Number of the next batch of device messages.
  std::uint64_t next_batch() { return ++messages_; }
  Watch& watch() { return *watch_; }
  bool is_in_process() const;
  std::chrono::milliseconds timeout() const { return identity_.timeout; }
  const std::string& name() const { return identity_.name; }
  const std::string& engine() const { return identity_.engine; }
  /// `act` runs once, on any thread, if the group fails or has failed, while the result lives.
  [[nodiscard]] std::shared_ptr<void> add_failure_callback(FailureActs::Act act);
  Divider* divider() const { return divider_.get(); }

 private:
  template <class Work>
  void guarded(const CallState& state, Work work);
  [[noreturn]] void fail_in(const CallState& state, const std::string& message, bool from_elsewhere);
  void alone(const Collective& call) const;
  std::uint64_t tag_of(const Collective& call) const;

  Identity identity_;
  // The transport outlives the watch: the watch may still interrupt the transport.
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Divider> divider_;
  Algorithms algorithms_;
  std::uint64_t calls_ = 0, messages_ = 0;
  std::map<std::tuple<int, bool, int>, std::uint64_t> sent_and_received_;  ///< keyed by peer, direction and tag
  std::vector<std::uint64_t> tags_, nth_;
  std::vector<std::uint64_t> records_;
};

}  // namespace tern
