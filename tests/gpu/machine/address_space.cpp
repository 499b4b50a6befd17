#include "tests/gpu/machine/address_space.h"

#include <sys/mman.h>

#include <cstring>
#include <iterator>

#include "tests/gpu/machine/pointer.h"
#include "tests/gpu/machine/status.h"

namespace tern::emulator {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

// Inaccessible and without memory. The kernel merges neighbours of this kind, so their number has no limit.
void clear(uint64_t begin, uint64_t bytes) {
  if (mmap(pointer(begin), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    fatal("mmap cannot clear %llu bytes: %s", static_cast<unsigned long long>(bytes), std::strerror(errno));
  }
}

}  // namespace

void AddressSpace::begin_use() {
  if (base_ != 0) return;
  // 8 TiB, or the space left by ThreadSanitizer.
  void* place = MAP_FAILED;
  for (size_ = 1ull << 43; size_ > 1ull << 32; size_ /= 2) {
    place = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place != MAP_FAILED) break;
  }
  if (place == MAP_FAILED) fatal("mmap reserves no addresses for %s: %s", description_, std::strerror(errno));
  base_ = reinterpret_cast<uint64_t>(place);
  next_ = round_up(base_, 2 << 20);
}

void AddressSpace::record(uint64_t begin, uint64_t end, bool accessible, const std::string& state) {
  // Cuts overlapped regions.
  auto at = regions_.lower_bound(begin);
  if (at != regions_.begin() && std::prev(at)->second.end > begin) {
    Region& before = std::prev(at)->second;
    Region rest = before;
    before.end = begin;
    if (rest.end > end) {
      rest.begin = end;
      regions_[end] = rest;
    }
  }
  for (at = regions_.lower_bound(begin); at != regions_.end() && at->first < end;) {
    Region rest = at->second;
    at = regions_.erase(at);
    if (rest.end > end) {
      rest.begin = end;
      at = std::next(regions_.emplace(end, rest).first);
    }
  }
  regions_[begin] = {begin, end, accessible, state};
}

uint64_t AddressSpace::reserve(uint64_t bytes, uint64_t alignment, const std::string& state) {
  begin_use();
  const uint64_t begin = round_up(next_, alignment);
  if (bytes > size_ || begin + bytes + kPage > base_ + size_) {
    refuse(Status::out_of_memory, "all addresses for %s are used up", description_);
  }
  next_ = round_up(begin + bytes, kPage) + kPage;
  record(begin, begin + bytes, false, state);
  return begin;
}

uint64_t AddressSpace::allocate(uint64_t bytes, const std::string& state) {
  const uint64_t pages = round_up(bytes, kPage);
  const uint64_t place = reserve(pages, kPage, state);
  if (mprotect(pointer(place), pages, PROT_READ | PROT_WRITE) != 0) {
    clear(place, pages);
    refuse(Status::out_of_memory, "the host has no %llu bytes left", static_cast<unsigned long long>(bytes));
  }
  std::memset(pointer(place), kFresh, pages);
  const uint64_t begin = place + pages - round_up(bytes, 256);
  record(place, place + pages, false, "next to memory that was " + state);
  record(begin, begin + bytes, true, state + " (number " + std::to_string(++serial_) + ")");
  return begin;
}

uint64_t AddressSpace::release(uint64_t begin, const std::string& state) {
  auto at = regions_.find(begin);
  if (at == regions_.end() || !at->second.accessible) return 0;
  Region& region = at->second;
  const uint64_t bytes = region.end - region.begin;
  clear(begin / kPage * kPage, round_up(region.end, kPage) - begin / kPage * kPage);
  region.accessible = false;
  region.state += ", then " + state;
  return bytes;
}

void AddressSpace::map(uint64_t begin, uint64_t bytes, int file, const std::string& state) {
  if (mmap(pointer(begin), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    fatal("mmap maps no memory: %s", std::strerror(errno));
  }
  record(begin, begin + bytes, false, state);
}

void AddressSpace::set_access(uint64_t begin, uint64_t bytes, bool read, bool write, const std::string& state) {
  if (mprotect(pointer(begin), bytes, (read ? PROT_READ : 0) | (write ? PROT_WRITE : 0)) != 0) {
    fatal("mprotect fails: %s", std::strerror(errno));
  }
  record(begin, begin + bytes, read, state);
}

void AddressSpace::unmap(uint64_t begin, uint64_t bytes, const std::string& state) {
  clear(begin, bytes);
  record(begin, begin + bytes, false, state);
}

std::string AddressSpace::wrong(uint64_t begin, uint64_t bytes) const {
  // A range may continue into the next mapping.
  for (uint64_t at = begin; at < begin + bytes;) {
    auto next = regions_.upper_bound(at);
    if (next == regions_.begin()) return history(at);
    const Region& region = std::prev(next)->second;
    if (at >= region.end || !region.accessible) return history(at);
    at = region.end;
  }
  return bytes != 0 || begin == 0 || contains(begin) ? "" : history(begin);
}

std::string AddressSpace::history(uint64_t address) const {
  char text[64];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address));
  if (!contains(address)) return std::string(text) + " was never an address of " + description_;
  auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) return std::string(text) + " was never allocated";
  const Region& region = std::prev(next)->second;
  const std::string bytes = std::to_string(region.end - region.begin);
  if (address >= region.end) {
    return std::string(text) + " is " + std::to_string(address - region.end) + " bytes behind the end of " + bytes +
           " bytes that were " + region.state;
  }
  return std::string(text) + " is byte " + std::to_string(address - region.begin) + " of " + bytes +
         " bytes that were " + region.state;
}

void AddressSpace::close() {
  for (const auto& [begin, region] : regions_) {
    if (region.accessible) {
      mprotect(pointer(begin / kPage * kPage), round_up(region.end, kPage) - begin / kPage * kPage, PROT_NONE);
    }
  }
}

void AddressSpace::open() {
  for (const auto& [begin, region] : regions_) {
    if (region.accessible) {
      mprotect(pointer(begin / kPage * kPage), round_up(region.end, kPage) - begin / kPage * kPage,
               PROT_READ | PROT_WRITE);
    }
  }
}

}  // namespace tern::emulator
