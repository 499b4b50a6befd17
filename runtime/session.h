// Everything that belongs to one user of a Prepared.
#pragma once

#include <tern/tern.h>

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/collective/session_groups.h"
#include "runtime/devices/transfer.h"
#include "runtime/frame.h"
#include "runtime/stream.h"
#include "runtime/trace/session_trace.h"

namespace tern {

class CallerOutputs;

class SessionImpl {
 public:
  SessionImpl(std::shared_ptr<const PreparedProgram> p, const Stream& s);
  /// After a run has failed: the device's work has ended, and no other rank waits for this one.
  void give_up(const std::exception& why) noexcept;
  /// Makes tensors of views on the host; they borrow the memory.
  static void lend(std::span<const TensorView> results, std::vector<Tensor>& outputs);
  /// Puts a run on the stream. `into`: where the caller wants its results, null for the session's memory. `waits`: for
  /// the results; without, all of them go where they belong by the stream's own work.
  void run(std::uint32_t function, std::span<const Tensor> given, CallerOutputs* into, bool waits = false);

  std::shared_ptr<const PreparedProgram> prepared;
  Stream stream;
  StateMemory state;
  SessionContext context;
  Transfer transfer{context};
  std::unique_ptr<Profile> profile;
  std::unique_ptr<SessionTrace> tracing;
  std::map<std::uint32_t, std::unique_ptr<Frame>> frames;
  std::vector<TensorView> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> dense;       ///< contiguous copies of strided inputs, in their places
  SessionGroups groups{context};   ///< goes first: a collective may be under way in the memory above
  const Function* last = nullptr;  ///< whose results `outputs` are
  std::atomic<bool> in_use = false;
  std::atomic<bool> is_dropped = false;  ///< its Session was replaced or destroyed

 private:
  std::span<const Tensor> make_dense(std::span<const Tensor> given);
  void update_strided(const Function& f, std::span<const Tensor> given);
};

/// A session has one caller at a time: a second one, on another thread or inside an operator that the session runs,
/// gets invalid_argument. The session lives until its caller has finished, whatever becomes of its Session.
class SessionUse {
 public:
  explicit SessionUse(std::shared_ptr<SessionImpl> session);
  ~SessionUse() { session_->in_use = false; }
  SessionUse(const SessionUse&) = delete;
  SessionUse& operator=(const SessionUse&) = delete;
  SessionImpl* operator->() const { return session_.get(); }
  const std::shared_ptr<SessionImpl>& session() const { return session_; }
  /// After a run, whose operators may have replaced or destroyed the Session: then its results are gone.
  void check_kept() const;

 private:
  std::shared_ptr<SessionImpl> session_;
};

/// The tensors in the order in which the function takes them. Fails where one is missing, unknown or given twice.
std::vector<Tensor> in_order(const Function& f, const std::vector<NamedTensor>& given);
/// The views that a frame takes, in the places of the function's inputs. Checks count, dtype and rank; the frame checks
/// sizes. Tensors are on the host or on the device of the program.
void fill_inputs(const PreparedProgram& prepared, const Function& f, std::span<const Tensor> given,
                 std::vector<TensorView>& views);

}  // namespace tern
