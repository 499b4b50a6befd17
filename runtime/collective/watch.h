// What ranks know of each other beside their data: the calls that they are in, and whether one has failed.
#pragma once

#include <tern/collective.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/collective/failure_acts.h"

namespace tern {

/// The call that a rank is in.
struct CallState {
  std::uint64_t number = 0;  ///< from 1 on; messages between two ranks have numbers of their own
  CollectiveKind kind = CollectiveKind::barrier;
  ReduceOp reduce = ReduceOp::sum;
  DType dtype = DType::invalid;
  std::int64_t count = 0;
  std::int32_t root = 0;
  std::uint64_t fingerprint = 0;
  std::string where = {};  ///< a copy: other ranks look at it when the call is over
  int tag = 0;             ///< of a message
  std::uint64_t nth = 0;   ///< message from this rank to that one with that tag, from 1 on
};
CallState state_of(const Collective& call, std::uint64_t number, std::uint64_t nth = 0);
/// "all_reduce (sum) of 4 float32, call 3, at model.py:12".
std::string describe(const CallState& state);
/// Why two ranks that are in these calls never finish them; empty where they may.
std::string conflict(int rank_a, const CallState& a, int rank_b, const CallState& b);

class Watch {
 public:
  /// A broken connection is noticed before the reason for it arrives.
  static constexpr std::chrono::milliseconds kReasonComes{2000};
  virtual ~Watch() = default;
  /// Throws where the group has failed, or another rank's call of that number is another.
  virtual void begin(const CallState& state) = 0;
  virtual void end() noexcept = 0;
  /// A call of this rank's device takes long: it is compared with what the other ranks are in. Number 0: none does any
  /// more. From any thread.
  virtual void device_waits(const CallState& state) noexcept = 0;
  /// The calls up to this number are done, devices have made some of them. From any thread.
  virtual void made(std::uint64_t number) noexcept = 0;
  /// Why the group has failed; empty where it has not, after this time.
  virtual std::string failure(std::chrono::milliseconds patience) = 0;
  /// The first text counts, on all ranks.
  virtual void stop(const std::string& why) noexcept = 0;
  /// What runs when the group fails; `failure` says whether it has before.
  virtual FailureActs& acts() = 0;
  /// Where rank `rank` is, as far as this one knows: ", which is in ..."; or nothing.
  virtual std::string place_of(int rank) = 0;
};

}  // namespace tern
