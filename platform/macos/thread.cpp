#include "platform/thread.h"

#include <pthread.h>
#include <sys/resource.h>

namespace tern::platform {

std::uint32_t thread_number() {
  std::uint64_t number = 0;
  ::pthread_threadid_np(nullptr, &number);
  return static_cast<std::uint32_t>(number);
}

void set_thread_name(const char* name) {
  ::pthread_setname_np(name);
}

void lower_priority() {
  ::setpriority(PRIO_DARWIN_THREAD, 0, PRIO_DARWIN_BG);
}

int current_processor() {
  return -1;
}

void leave_processor(int /*busy*/) {}

}  // namespace tern::platform
