#include "threads/threads.h"

#include <omp.h>

#include <utility>

namespace tern {
namespace {

thread_local int in_force = 0;  // 0: outside any scope

}  // namespace

Threads Threads::of_openmp() {
  return chosen(0);
}

Threads Threads::chosen(int count) {
  if (omp_in_parallel()) return Threads(1);
  return Threads(count > 0 ? count : omp_get_max_threads());
}

Threads Threads::current() {
  const int count = in_force;
  return count > 0 ? Threads(count) : of_openmp();
}

ThreadScope::ThreadScope(Threads threads)
    : outer_(std::exchange(in_force, threads.count())), openmp_(omp_get_max_threads()) {
  if (openmp_ != threads.count()) omp_set_num_threads(threads.count());
}

ThreadScope::~ThreadScope() {
  in_force = outer_;
  // Libraries may have changed the setting, too.
  if (omp_get_max_threads() != openmp_) omp_set_num_threads(openmp_);
}

}  // namespace tern
