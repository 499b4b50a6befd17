#include "threads/threads.h"

#include <utility>

#include "threads/openmp.h"

namespace tern {
namespace {

thread_local int scope_threads = 0;  // 0: outside any scope

}  // namespace

Threads Threads::openmp_default() {
  return chosen(0);
}

Threads Threads::chosen(int count) {
  if (openmp::in_parallel()) return Threads(1);
  return Threads(count > 0 ? count : openmp::max_threads());
}

Threads Threads::current() {
  const int count = scope_threads;
  return count > 0 ? Threads(count) : openmp_default();
}

ThreadScope::ThreadScope(Threads threads)
    : outer_(std::exchange(scope_threads, threads.count())), openmp_(openmp::max_threads()) {
  if (openmp_ != threads.count()) openmp::set_max_threads(threads.count());
}

ThreadScope::~ThreadScope() {
  scope_threads = outer_;
  // Libraries may have changed the setting, too.
  if (openmp::max_threads() != openmp_) openmp::set_max_threads(openmp_);
}

}  // namespace tern
