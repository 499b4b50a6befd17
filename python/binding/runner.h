// Who runs calls: one session, or as many as threads call at once.
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

/// Whether a tensor lies on a device: then results do, too.
bool on_device(std::span<const Tensor> inputs);

/// All functions need the GIL, and release it while they run.
class Runner {
 public:
  virtual ~Runner() = default;
  /// Results have memory of their own: on the model's device where an input is there.
  virtual std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) = 0;
  /// Writes results to the caller's memory.
  virtual void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) = 0;
};

/// A session that refuses a second thread while it runs, or has it wait.
class OneSession : public Runner {
 public:
  static std::shared_ptr<OneSession> make(std::shared_ptr<Facts> facts, bool waits = false);
  std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) override;
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
  /// Calls `use` with the session, alone and without the GIL.
  void with(const std::function<void(Session&)>& use);
  /// Waits for a run on another thread, and frees the session's memory. Later runs fail.
  void close();
  /// Ends a run on another thread: it throws Cancelled.
  void cancel() const { token_.cancel(); }
  bool is_closed() const { return !session_; }

 private:
  OneSession(std::shared_ptr<const Facts> facts, bool waits);
  std::unique_lock<std::mutex> enter();
  /// Calls `act` alone, without the GIL. Ctrl-C and cancel() end it.
  template <class Act>
  auto run_alone(Act act);

  std::shared_ptr<const Facts> facts_;
  std::optional<Session> session_;  ///< empty once it is closed; written with the GIL
  CancelToken token_;
  std::mutex busy_;
  bool waits_;
};

/// The model's own: a session for each thread that calls at once; one for all where runs depend on earlier runs.
class Pool : public Runner {
 public:
  explicit Pool(std::shared_ptr<Facts> facts) : facts_(std::move(facts)) {}
  std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) override;
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
  /// The session that has the states of calls of the model.
  OneSession& own();
  /// Closes the model and all of its sessions.
  void close();
  /// Ends all runs of calls of the model.
  void cancel() const;

 private:
  std::shared_ptr<OneSession> take();
  void give(std::shared_ptr<OneSession> session);

  std::shared_ptr<Facts> facts_;
  std::shared_ptr<OneSession> own_;
  std::vector<std::shared_ptr<OneSession>> idle_;  ///< under the GIL
};

}  // namespace tern::python
