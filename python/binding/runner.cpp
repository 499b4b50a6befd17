#include "python/binding/runner.h"

#include <tern/error.h>

#include <algorithm>
#include <utility>

#include "python/binding/fork.h"
#include "python/binding/gil.h"

namespace tern::python {

bool on_device(std::span<const Tensor> inputs) {
  return std::ranges::any_of(inputs, [](const Tensor& t) { return t.device() != "cpu"; });
}

OneSession::OneSession(std::shared_ptr<const Facts> facts, bool waits)
    : facts_(std::move(facts)), session_((check_fork(), facts_->prepared)), waits_(waits) {}

std::unique_lock<std::mutex> OneSession::enter() {
  check_fork();
  std::unique_lock lock(busy_, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  if (!waits_)
    fail(
        ErrorCode::invalid_argument,
        "the session runs on another thread; a session belongs to one thread at a time: model.session() makes another");
  const WithoutGil released;
  lock.lock();
  return lock;
}

std::vector<Tensor> OneSession::run(std::string_view function, std::span<const Tensor> inputs) {
  const std::unique_lock lock = enter();
  const WithoutGil released;
  return on_device(inputs) ? session_.run_on_device(function, inputs) : session_.run_owned(function, inputs);
}

void OneSession::run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const std::unique_lock lock = enter();
  const WithoutGil released;
  session_.run_into(function, inputs, outputs);
}

void OneSession::with(const std::function<void(Session&)>& use) {
  const std::unique_lock lock = enter();
  const WithoutGil released;
  use(session_);
}

OneSession& Pool::own() {
  if (own_ == nullptr) own_ = std::make_shared<OneSession>(facts_, true);
  return *own_;
}

std::shared_ptr<OneSession> Pool::take() {
  if (facts_->remembers) {
    own();
    return own_;
  }
  if (idle_.empty()) return std::make_shared<OneSession>(facts_);
  std::shared_ptr<OneSession> session = std::move(idle_.back());
  idle_.pop_back();
  return session;
}

void Pool::give(std::shared_ptr<OneSession> session) {
  if (session != own_) idle_.push_back(std::move(session));
}

std::vector<Tensor> Pool::run(std::string_view function, std::span<const Tensor> inputs) {
  std::shared_ptr<OneSession> session = take();
  std::vector<Tensor> results = session->run(function, inputs);
  give(std::move(session));  // one that failed is dropped
  return results;
}

void Pool::run_into(std::string_view function, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  std::shared_ptr<OneSession> session = take();
  session->run_into(function, inputs, outputs);
  give(std::move(session));
}

}  // namespace tern::python
