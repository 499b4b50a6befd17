// Ends runs early, from another thread or a signal handler.
//
//   tern::CancelToken token;
//   std::jthread worker([&] {
//     const tern::CancelScope scope(token);  // runs of this thread heed the token
//     session.run({input});                  // throws tern::Cancelled
//   });
//   token.cancel();
#pragma once

#include <tern/error.h>

#include <atomic>
#include <memory>
#include <string>

namespace tern {

/// Thrown by a run with a cancelled token. The session stays usable; mutable state may hold values of the cancelled
/// run. The code is ErrorCode::runtime.
class TERN_API Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& message) : Error(ErrorCode::runtime, message) {}
};

/// A flag; any thread may set it. Copies share the flag.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  /// Ends runs in scopes of this token before their next node or iteration, and blocks new runs until reset(). May be
  /// called in a signal handler.
  void cancel() const noexcept { flag_->store(true, std::memory_order_relaxed); }
  void reset() const noexcept { flag_->store(false, std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return flag_->load(std::memory_order_relaxed); }
  const std::shared_ptr<std::atomic<bool>>& flag() const { return flag_; }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

/// Runs and replays begun by this thread before the scope ends obey the token. Scopes nest: the innermost counts.
class TERN_API CancelScope {
 public:
  explicit CancelScope(const CancelToken& token);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  CancelToken token_;
  const std::atomic<bool>* outer_;
};

}  // namespace tern
