#include "python/binding/fork.h"

#include <pthread.h>
#include <tern/error.h>

#include <atomic>

namespace tern::python {
namespace {

std::atomic<bool> used = false, orphaned = false;

void mark_orphaned() {
  if (used) orphaned = true;
}

}  // namespace

void watch_forks() {
  pthread_atfork(nullptr, nullptr, mark_orphaned);
}

void check_fork() {
  if (orphaned.load(std::memory_order_relaxed))
    fail(ErrorCode::runtime,
         "this process was forked from one that had used Tern, and Tern's threads do not survive a fork; start "
         "processes with multiprocessing.get_context('spawn'), or load models only after the fork");
  used.store(true, std::memory_order_relaxed);
}

}  // namespace tern::python
