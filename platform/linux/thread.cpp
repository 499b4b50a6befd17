#include "platform/thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tern::platform {

std::uint32_t thread_number() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

void set_thread_name(const char* name) {
  ::pthread_setname_np(::pthread_self(), name);
}

void lower_priority() {
  constexpr int kNice = 15;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(thread_number()), kNice);  // Linux keeps priorities per thread
}

int current_processor() {
  return ::sched_getcpu();
}

void leave_processor(int busy) {
  cpu_set_t all, others;
  if (busy < 0 || busy >= CPU_SETSIZE || current_processor() != busy || ::sched_getaffinity(0, sizeof all, &all) != 0)
    return;
  others = all;
  CPU_CLR(static_cast<std::size_t>(busy), &others);
  if (CPU_COUNT(&others) == 0 || ::sched_setaffinity(0, sizeof others, &others) != 0) return;
  ::sched_setaffinity(0, sizeof all, &all);
}

}  // namespace tern::platform
