#include "runtime/cancel.h"

namespace tern {
namespace {

thread_local const std::atomic<bool>* current_flag = nullptr;

}  // namespace

CancelScope::CancelScope(const CancelToken& token) : token_(token), outer_(current_flag) {
  current_flag = token_.flag().get();
}

CancelScope::~CancelScope() {
  current_flag = outer_;
}

const std::atomic<bool>* cancel_flag() noexcept {
  return current_flag;
}

void fail_at(const std::string& place, const Error& e) {
  const std::string message = place + ": " + e.what();
  if (dynamic_cast<const Cancelled*>(&e) != nullptr) throw Cancelled(message);
  fail(e.code(), message);
}

}  // namespace tern
