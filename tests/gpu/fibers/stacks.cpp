#include "tests/gpu/fibers/stacks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace tern::fibers {
namespace {

std::mutex mutex;
std::vector<char*>& free_stacks() {
  static auto* stacks = new std::vector<char*>;  // lives until the end of the process, even after destructors
  return *stacks;
}

char* new_stack() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE)) {
    std::perror("a stack of an emulated GPU's thread");
    std::abort();
  }
  return static_cast<char*>(memory) + page;
}

}  // namespace

Stacks::Stacks(std::size_t count) {
  const std::lock_guard lock(mutex);
  std::vector<char*>& free = free_stacks();
  while (stacks_.size() < count) {
    if (free.empty()) {
      stacks_.push_back(new_stack());
    } else {
      stacks_.push_back(free.back());
      free.pop_back();
    }
  }
}

Stacks::~Stacks() {
  const std::lock_guard lock(mutex);
  free_stacks().insert(free_stacks().end(), stacks_.begin(), stacks_.end());
}

}  // namespace tern::fibers
