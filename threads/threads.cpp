#include "threads/threads.h"

#include <utility>

#include "threads/openmp.h"

namespace tern {
namespace {

thread_local int in_force = 0;  // 0: outside any scope

}  // namespace

Threads Threads::of_openmp() {
  return chosen(0);
}

Threads Threads::chosen(int count) {
  if (openmp::in_parallel()) return Threads(1);
  return Threads(count > 0 ? count : openmp::max_threads());
}

Threads Threads::current() {
  const int count = in_force;
  return count > 0 ? Threads(count) : of_openmp();
}

ThreadScope::ThreadScope(Threads threads)
    : outer_(std::exchange(in_force, threads.count())), openmp_(openmp::max_threads()) {
  if (openmp_ != threads.count()) openmp::set_max_threads(threads.count());
}

ThreadScope::~ThreadScope() {
  in_force = outer_;
  // Libraries may have changed the setting, too.
  if (openmp::max_threads() != openmp_) openmp::set_max_threads(openmp_);
}

}  // namespace tern
