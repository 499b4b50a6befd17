// Runners of calls: a single session, or a session for each concurrent thread.
#pragma once

#include <tern/cancel.h>
#include <tern/tern.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "python/binding/facts.h"

namespace tern::python {

/// True if a tensor is on a device: results are then on the device, too.
bool has_device_tensor(std::span<const Tensor> inputs);

/// All functions need the GIL, and release it during runs.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Results have their own memory: on the model's device if an input is there.
  virtual std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) = 0;
  /// Writes results to the caller's memory.
  virtual void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) = 0;
};

/// A single session. During a run, calls of other threads fail, or wait if `wait_for_runs`.
class OneSession : public Runner {
 public:
  static std::shared_ptr<OneSession> create(std::shared_ptr<Facts> facts, bool wait_for_runs = false);
  std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) override;
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
  /// Calls `body` with the session, exclusively and without the GIL.
  void run_exclusive(const std::function<void(Session&)>& body);
  /// Waits for a run on another thread, and frees the session's memory. Later runs fail.
  void close();
  /// Ends a run on another thread with Cancelled.
  void cancel() const { token_.cancel(); }
  bool is_closed() const { return !session_; }

 private:
  OneSession(std::shared_ptr<const Facts> facts, bool wait_for_runs);
  /// Locks the session for a run; fails if the session is closed or, unless `wait_for_runs`, running.
  std::unique_lock<std::mutex> lock_session();
  /// Calls `body` exclusively, without the GIL. Ctrl-C and cancel() end the call.
  template <class Act>
  auto run_alone(Act body);

  std::shared_ptr<const Facts> facts_;
  std::optional<Session> session_;  ///< empty after closing; written with the GIL
  CancelToken token_;
  std::mutex run_mutex_;
  bool wait_for_runs_;
};

/// The model's own runner: a session for each concurrent thread; a single session if runs depend on earlier runs.
class SessionPool : public Runner {
 public:
  explicit SessionPool(std::shared_ptr<Facts> facts) : facts_(std::move(facts)) {}
  std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) override;
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
  /// The session with the states of the model's calls.
  OneSession& states_session();
  /// Closes the model and all of its sessions.
  void close();
  /// Ends all runs of calls of the model.
  void cancel() const;

 private:
  std::shared_ptr<OneSession> acquire_session();
  void return_session(std::shared_ptr<OneSession> session);

  std::shared_ptr<Facts> facts_;
  std::shared_ptr<OneSession> states_session_;
  std::vector<std::shared_ptr<OneSession>> idle_;  ///< guarded by the GIL
};

}  // namespace tern::python
