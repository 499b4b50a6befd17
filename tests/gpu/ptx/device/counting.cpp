#include "tests/gpu/ptx/device/counting.h"

#include <algorithm>

#include "tests/gpu/ptx/device/requests.h"

namespace tern::emulated {
namespace {

// Arrays of a thread lie on its stack: above this frame, and below the thread's record, unless a sanitizer moves the
// record to its own memory.
constexpr std::uint64_t kStack = 256 << 10;

bool is_local(const tern_thread& thread, std::uint64_t address) {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  auto top = reinterpret_cast<std::uint64_t>(&thread);
  if (top - here >= kStack) top = here + kStack;
  return address >= here && address < top;
}

}  // namespace

bool Counting::recorded(std::uint64_t block) const {
  if (blocks_ <= kRecorded) return true;
  for (std::uint64_t part = 0; part < kRecorded; ++part) {
    if (block == (2 * part + 1) * blocks_ / (2 * kRecorded)) return true;
  }
  return false;
}

void Counting::access(const tern_thread& thread, int line, tern_access_kind kind, std::uint64_t address,
                      std::uint32_t bytes) {
  if (address - reinterpret_cast<std::uint64_t>(thread.shared) < thread.shared_bytes)
    return shared_access(thread, line, kind, address - reinterpret_cast<std::uint64_t>(thread.shared), bytes);
  if (is_local(thread, address)) {
    if (recording_) local_bytes_ += bytes;
    return;
  }
  if (!decided_ || runs_all_blocks_) {
    for (std::uint64_t s = address / kSector; s <= (address + bytes - 1) / kSector; ++s) touched_[kind].add(s);
  }
  if (recording_) record(thread, {static_cast<std::uint32_t>(line), kind, false}, address, bytes);
}

void Counting::shared_access(const tern_thread& thread, int line, tern_access_kind kind, std::uint64_t address,
                             std::uint32_t bytes) {
  if (recording_) record(thread, {static_cast<std::uint32_t>(line), kind, true}, address, bytes);
}

void Counting::record(const tern_thread& thread, const Site& site, std::uint64_t address, std::uint32_t bytes) {
  const std::uint32_t warp = thread.index / kLanes;
  // A warp without barriers is complete when the next starts: frees its memory early.
  if (warp != warp_ && !thread.kernel->uses_groups) recorder_.close();
  warp_ = warp;
  recorder_.add(warp, thread.index % kLanes, site, address, bytes);
}

void Counting::end_thread(const tern_thread& thread) {
  block_work_ +=
      static_cast<double>(thread.accesses + thread.operations) + static_cast<double>(thread.tensor_operations);
  if (!recording_) return;
  operations_ += static_cast<double>(thread.operations);
  tensor_operations_ += static_cast<double>(thread.tensor_operations);
}

void Counting::end_block() {
  recorder_.close();
  recorded_blocks_ += recording_;
  if (!decided_)
    runs_all_blocks_ = blocks_ <= kRecorded || block_work_ * static_cast<double>(blocks_) <= counts_.most_work;
  decided_ = true;
  block_work_ = 0;
}

void Counting::finish() {
  const double scale = static_cast<double>(blocks_) / static_cast<double>(std::max<std::uint64_t>(recorded_blocks_, 1));
  tern_emulated_accesses* const accesses[] = {&counts_.loads, &counts_.stores, &counts_.atomics};
  double worst = 0;
  for (const auto& [site, sums] : recorder_.sums()) {
    if (site.shared) {
      counts_.shared_requests += sums.requests * scale;
      counts_.shared_passes += sums.touched * scale;
      counts_.shared_least_passes += sums.minimum * scale;
      continue;
    }
    tern_emulated_accesses& of = *accesses[site.kind];
    of.requests += sums.requests * scale;
    of.sectors += sums.touched * scale;
    of.least_sectors += sums.minimum * scale;
    if (sums.touched - sums.minimum > worst) {
      worst = sums.touched - sums.minimum;
      counts_.worst_line = site.line;
      counts_.worst_sectors = sums.touched / sums.requests;
      counts_.worst_least_sectors = sums.minimum / sums.requests;
    }
  }
  for (int kind = 0; kind < TERN_ACCESS_KINDS && runs_all_blocks_; ++kind)
    accesses[kind]->memory_bytes = static_cast<double>(touched_[kind].size() * kSector);
  counts_.operations = operations_ * scale;
  counts_.tensor_operations = tensor_operations_ * scale;
  counts_.local_bytes = local_bytes_ * scale;
  counts_.blocks = blocks_;
  counts_.recorded_blocks = recorded_blocks_;
  counts_.ran_whole = runs_all_blocks_;
}

}  // namespace tern::emulated

namespace {

tern::emulated::Counting& counting(tern_thread* thread) {
  return *static_cast<tern::emulated::Counting*>(thread->counting);
}

}  // namespace

extern "C" {

void tern_ptx_count(tern_thread* thread, int line, tern_access_kind kind, u64 address, u32 bytes) {
  counting(thread).access(*thread, line, kind, address, bytes);
}

void tern_ptx_count_shared(tern_thread* thread, int line, tern_access_kind kind, u32 address, u32 bytes) {
  counting(thread).shared_access(*thread, line, kind, address, bytes);
}

}  // extern "C"
