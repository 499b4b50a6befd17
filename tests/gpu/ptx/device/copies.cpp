// cp.async: copies happen at the wait, as late as the manual allows, so that a missing wait shows.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/gpu/ptx/device/device.h"

namespace {

struct Copy {
  char* target;
  u64 source;
  u32 bytes, read_bytes;
};

struct Copies {
  std::vector<std::vector<Copy>> groups;  // committed, the oldest first
  std::vector<Copy> open;
};

Copies& copies_of(tern_thread* thread) {
  if (!thread->copies) thread->copies = new Copies;
  return *static_cast<Copies*>(thread->copies);
}

void run_copies(const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) {
    std::memcpy(copy.target, reinterpret_cast<const void*>(copy.source), copy.read_bytes);
    std::memset(copy.target + copy.read_bytes, 0, copy.bytes - copy.read_bytes);
  }
}

}  // namespace

extern "C" {

void tern_ptx_copy(tern_thread* thread, int line, u32 to_shared, u64 from, u32 bytes, u32 read_bytes) {
  if (to_shared % bytes || std::uint64_t{to_shared} + bytes > thread->shared_bytes) {
    tern_ptx_bad_address(thread, line, "shared", to_shared, bytes);
  }
  // "src-size must be less than or equal to cp-size"; of none, the address is not read.
  if (read_bytes > bytes) tern_ptx_trap(thread, line, "cp.async reads more than it copies");
  if (from % bytes || (read_bytes && from < 4096)) tern_ptx_bad_address(thread, line, "global", from, bytes);
  if (thread->counting) {
    thread->accesses += 2;
    if (read_bytes) tern_ptx_count(thread, line, TERN_LOAD, from, read_bytes);
    tern_ptx_count_shared(thread, line, TERN_STORE, to_shared, bytes);
  }
  copies_of(thread).open.push_back({thread->shared + to_shared, from, bytes, read_bytes});
}

void tern_ptx_copy_commit(tern_thread* thread) {
  Copies& copies = copies_of(thread);
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}

// "Wait until only N or fewer of the most recent cp.async-groups are pending."
void tern_ptx_copy_wait(tern_thread* thread, u32 groups_left) {
  Copies& copies = copies_of(thread);
  if (copies.groups.size() <= groups_left) return;
  const auto end = copies.groups.end() - groups_left;
  std::for_each(copies.groups.begin(), end, run_copies);
  copies.groups.erase(copies.groups.begin(), end);
}

// "Wait for all prior cp.async operations", committed or not.
void tern_ptx_copy_wait_all(tern_thread* thread) {
  tern_ptx_copy_commit(thread);
  tern_ptx_copy_wait(thread, 0);
}

void tern_ptx_copy_end(tern_thread* thread) {
  delete static_cast<Copies*>(thread->copies);
}

}  // extern "C"
