// State shared by ranks beside their data: the current call of each rank, and failures.
#pragma once

#include <tern/collective.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/collective/failure_acts.h"

namespace tern {

/// Current call of a rank.
struct CallState {
  std::uint64_t number = 0;  ///< counted from 1; point-to-point messages are numbered separately
  CollectiveKind kind = CollectiveKind::barrier;
  ReduceOp reduce = ReduceOp::sum;
  DType dtype = DType::invalid;
  std::int64_t count = 0;
  std::int32_t root = 0;
  std::uint64_t fingerprint = 0;
  std::string where = {};  ///< a copy, because other ranks read the location after the end of the call
  int tag = 0;             ///< tag of a message
  std::uint64_t nth = 0;   ///< running number of messages from this rank to the peer with the same tag, counted from 1
};
CallState state_of(const Collective& call, std::uint64_t number, std::uint64_t nth = 0);
/// "all_reduce (sum) of 4 float32, call 3, at model.py:12".
std::string describe(const CallState& state);
/// Explains the reason if two ranks in these calls can never finish; else empty.
std::string conflict(int rank_a, const CallState& a, int rank_b, const CallState& b);

class Watch {
 public:
  /// Time for the reason to arrive after a connection breaks.
  static constexpr std::chrono::milliseconds kReasonComes{2000};
  virtual ~Watch() = default;
  /// Throws if the group has failed or another rank makes a different call of that number.
  virtual void begin(const CallState& state) = 0;
  virtual void end() noexcept = 0;
  /// Reports a long device call for comparison with the calls of other ranks. Number 0: the device call has ended.
  /// Thread-safe.
  virtual void device_waits(const CallState& state) noexcept = 0;
  /// Reports all calls up to this number as finished, including device calls. Thread-safe.
  virtual void mark_finished(std::uint64_t number) noexcept = 0;
  /// Returns the reason for the group's failure after at most `patience`; empty without a failure.
  virtual std::string failure(std::chrono::milliseconds patience) = 0;
  /// Ends the group. Only the first reason is kept, on all ranks.
  virtual void stop(const std::string& why) noexcept = 0;
  /// Callbacks of a failure; `failure` tells about earlier failures.
  virtual FailureActs& acts() = 0;
  /// Describes the last known call of rank `rank`, formatted like ", which is in ..."; empty if unknown.
  virtual std::string place_of(int rank) = 0;
};

}  // namespace tern
