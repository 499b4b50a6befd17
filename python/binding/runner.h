// Who runs calls: one session, or as many as threads call at once.
#pragma once

#include <tern/tern.h>

#include <functional>
#include <memory>
#include <mutex>
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
  explicit OneSession(std::shared_ptr<const Facts> facts, bool waits = false);
  std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) override;
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
  /// Calls `use` with the session, alone and without the GIL.
  void with(const std::function<void(Session&)>& use);

 private:
  std::unique_lock<std::mutex> enter();

  std::shared_ptr<const Facts> facts_;
  Session session_;
  std::mutex busy_;
  bool waits_;
};

/// The model's own: a session for each thread that calls at once; one for all where runs depend on earlier runs.
class Pool : public Runner {
 public:
  explicit Pool(std::shared_ptr<const Facts> facts) : facts_(std::move(facts)) {}
  std::vector<Tensor> run(std::string_view function, std::span<const Tensor> inputs) override;
  void run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
  /// The session that has the states of calls of the model.
  OneSession& own();

 private:
  std::shared_ptr<OneSession> take();
  void give(std::shared_ptr<OneSession> session);

  std::shared_ptr<const Facts> facts_;
  std::shared_ptr<OneSession> own_;
  std::vector<std::shared_ptr<OneSession>> idle_;  ///< under the GIL
};

}  // namespace tern::python
