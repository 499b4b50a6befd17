#include "python/binding/runner.h"

#include <tern/error.h>

#include <algorithm>
#include <utility>

#include "python/binding/fork.h"
#include "python/binding/gil.h"
#include "python/binding/interrupt.h"

namespace tern::python {

bool has_device_tensor(std::span<const Tensor> inputs) {
  return std::ranges::any_of(inputs, [](const Tensor& t) { return t.device() != "cpu"; });
}

OneSession::OneSession(std::shared_ptr<const Facts> facts, bool wait_for_runs)
    : facts_(std::move(facts)), session_((check_fork(), facts_->prepared())), wait_for_runs_(wait_for_runs) {}

std::shared_ptr<OneSession> OneSession::create(std::shared_ptr<Facts> facts, bool wait_for_runs) {
  const std::shared_ptr<OneSession> session(new OneSession(facts, wait_for_runs));
  facts->add(session);
  return session;
}

std::unique_lock<std::mutex> OneSession::lock_session() {
  check_fork();
  std::unique_lock lock(run_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    if (!wait_for_runs_)
      fail(ErrorCode::invalid_argument,
           "the session runs on another thread; a session belongs to one thread at a time: model.session() makes "
           "another");
    const WithoutGil released;
    lock.lock();
  }
  if (is_closed()) {
    facts_->check_open();
    fail(ErrorCode::invalid_argument, "the session is closed; model.session() makes another");
  }
  return lock;
}

void OneSession::close() {
  check_fork();
  std::unique_lock lock(run_mutex_, std::defer_lock);
  {
    const WithoutGil released;
    lock.lock();
  }
  session_.reset();
}

template <class Act>
auto OneSession::run_alone(Act body) {
  const std::unique_lock lock = lock_session();
  token_.reset();
  const Interruptible interruptible(token_);
  try {
    const WithoutGil released;
    const CancelScope scope(token_);
    return body();
  } catch (const Cancelled&) {
    raise_interrupt();
    throw;
  }
}

std::vector<Tensor> OneSession::run(std::string_view function, std::span<const Tensor> inputs) {
  return run_alone([&] {
    return has_device_tensor(inputs) ? session_->run_on_device(function, inputs)
                                     : session_->run_into_new(function, inputs);
  });
}

void OneSession::run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  run_alone([&] { session_->run_into(function, inputs, outputs); });
}

void OneSession::run_exclusive(const std::function<void(Session&)>& body) {
  run_alone([&] { body(*session_); });
}

OneSession& SessionPool::states_session() {
  if (states_session_ == nullptr) states_session_ = OneSession::create(facts_, true);
  return *states_session_;
}

std::shared_ptr<OneSession> SessionPool::acquire_session() {
  facts_->check_open();
  if (facts_->remembers) {
    states_session();
    return states_session_;
  }
  if (idle_.empty()) return OneSession::create(facts_);
  std::shared_ptr<OneSession> session = std::move(idle_.back());
  idle_.pop_back();
  return session;
}

void SessionPool::return_session(std::shared_ptr<OneSession> session) {
  if (session != states_session_ && !session->is_closed()) idle_.push_back(std::move(session));
}

void SessionPool::close() {
  facts_->close();
  idle_.clear();
  states_session_.reset();
}

void SessionPool::cancel() const {
  for (const std::shared_ptr<OneSession>& session : facts_->sessions()) session->cancel();
}

std::vector<Tensor> SessionPool::run(std::string_view function, std::span<const Tensor> inputs) {
  std::shared_ptr<OneSession> session = acquire_session();
  std::vector<Tensor> results = session->run(function, inputs);
  return_session(std::move(session));  // failed sessions are dropped
  return results;
}

void SessionPool::run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  std::shared_ptr<OneSession> session = acquire_session();
  session->run_into(function, inputs, outputs);
  return_session(std::move(session));
}

}  // namespace tern::python
