// State of one user of a PreparedModel.
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
  /// Cleans up after a failed run: the device's work ends, and no other rank waits for this rank.
  void give_up(const std::exception& why) noexcept;
  /// Creates tensors borrowing the memory of host views.
  static void lend(std::span<const TensorView> results, std::vector<Tensor>& outputs);
  /// Enqueues a run on the stream. `into`: the caller's memory for results; null: the session's memory. `waits`: waits
  /// for the results; otherwise the stream's own work delivers all results.
  void run(std::uint32_t function, std::span<const Tensor> arguments, CallerOutputs* caller_outputs,
           bool waits = false);

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
  std::vector<Tensor> dense;       ///< contiguous copies of strided inputs, by input position
  SessionGroups groups{context};   ///< destroyed first: a collective may still use the memory above
  const Function* last = nullptr;  ///< function that produced `outputs`
  std::atomic<bool> is_in_use = false;
  std::atomic<bool> is_dropped = false;  ///< set after the Session was replaced or destroyed

 private:
  std::span<const Tensor> make_dense(std::span<const Tensor> arguments);
  void update_strided(const Function& f, std::span<const Tensor> arguments);
};

/// Ensures a single caller of a session: a second caller (another thread, or an operator run by the session) gets
/// invalid_argument. The session lives until its caller has finished, even if its Session is destroyed.
class SessionUse {
 public:
  explicit SessionUse(std::shared_ptr<SessionImpl> session);
  ~SessionUse() { session_->is_in_use = false; }
  SessionUse(const SessionUse&) = delete;
  SessionUse& operator=(const SessionUse&) = delete;
  SessionImpl* operator->() const { return session_.get(); }
  const std::shared_ptr<SessionImpl>& session() const { return session_; }
  /// Fails after a run whose operators replaced or destroyed the Session: the results are gone.
  void check_kept() const;

 private:
  std::shared_ptr<SessionImpl> session_;
};

/// Orders the tensors by the function's inputs. Fails if a tensor is missing, unknown or duplicate.
std::vector<Tensor> order_inputs(const Function& f, const std::vector<NamedTensor>& arguments);
/// Fills in the frame's views at the positions of the function's inputs. Checks count, dtype and rank; the frame checks
/// sizes. Tensors live on the host or on the program's device.
void fill_inputs(const PreparedProgram& prepared, const Function& f, std::span<const Tensor> arguments,
                 std::vector<TensorView>& views);

}  // namespace tern
