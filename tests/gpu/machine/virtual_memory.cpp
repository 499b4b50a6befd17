// Memory objects and their mapped addresses, by the rules of cuda.h, "Virtual Memory Management".
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/gpu/machine/memory.h"
#include "tests/gpu/machine/settings.h"

namespace tern::emulator {
namespace {

using ull = unsigned long long;

void check_granularity(const char* what, uint64_t value) {
  if (value % Memory::kGranularity != 0) {
    refuse(Status::invalid_value, "%s is 0x%llx, no multiple of the granularity %llu", what, static_cast<ull>(value),
           static_cast<ull>(Memory::kGranularity));
  }
}

}  // namespace

Physical::~Physical() {
  if (file >= 0) ::close(file);
}

// cuMemAddressReserve: "The size and address parameters must be a multiple of the host page size and the alignment must
// be a power of two or zero for default alignment." The granularity is stricter, and real devices require it.
uint64_t Memory::reserve(uint64_t bytes, uint64_t alignment, const char* by) {
  if (bytes == 0) refuse(Status::invalid_value, "a reservation of no bytes");
  check_granularity("the size of a reservation", bytes);
  if ((alignment & (alignment - 1)) != 0) refuse(Status::invalid_value, "the alignment is no power of two");
  const uint64_t address =
      device_.reserve(bytes, std::max(alignment, kGranularity), std::string("reserved by ") + by + ", never mapped");
  reservations_[address] = bytes;
  ++counters_->figures.reservations;
  return address;
}

// cuMemAddressFree: "The size must match what was given to memAddressReserve and the ptr given must match what was
// returned from memAddressReserve."
void Memory::unreserve(uint64_t address, uint64_t bytes, const char* by) {
  auto at = reservations_.find(address);
  if (at == reservations_.end() || at->second != bytes) {
    refuse(Status::invalid_value, "no reservation of %llu bytes begins at 0x%llx", static_cast<ull>(bytes),
           static_cast<ull>(address));
  }
  auto mapping = mappings_.lower_bound(address);
  if (mapping != mappings_.end() && mapping->first < address + bytes) {
    refuse(Status::invalid_value, "the reservation still has memory mapped at 0x%llx",
           static_cast<ull>(mapping->first));
  }
  device_.unmap(address, bytes, std::string("reserved, then given back by ") + by);
  reservations_.erase(at);
  --counters_->figures.reservations;
}

// cuMemCreate: "The size of this allocation must be a multiple of the the value given via
// cuMemGetAllocationGranularity with the CU_MEM_ALLOC_GRANULARITY_MINIMUM flag."
uint64_t Memory::create(uint64_t bytes, int device) {
  if (bytes == 0) refuse(Status::invalid_value, "a memory object of no bytes");
  check_granularity("the size of a memory object", bytes);
  reserve(device, bytes);
  auto physical = std::make_shared<Physical>();
  physical->bytes = bytes;
  physical->device = device;
  physical->file = memfd_create("emulated device memory", MFD_CLOEXEC);
  void* fresh = MAP_FAILED;
  if (physical->file >= 0 && ftruncate(physical->file, static_cast<off_t>(bytes)) == 0) {
    fresh = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, physical->file, 0);
  }
  if (fresh == MAP_FAILED) {
    release(device, bytes);
    refuse(Status::out_of_memory, "the host has no memory of %llu bytes: %s", static_cast<ull>(bytes),
           std::strerror(errno));
  }
  std::memset(fresh, kFresh, bytes);
  munmap(fresh, bytes);
  physical->handle = physicals_.add(physical);
  ++counters_->figures.memory_objects;
  return physical->handle;
}

// cuMemRelease: "The memory allocation will be freed when all outstanding mappings to the memory are unmapped and when
// all outstanding references to the handle [...] are also released."
void Memory::release(uint64_t handle) {
  auto physical = physicals_.remove(handle);
  physical->released = true;
  drop(physical);
}

void Memory::drop(const std::shared_ptr<Physical>& physical) {
  if (!physical->released || physical->mappings != 0) return;
  release(physical->device, physical->bytes);
  --counters_->figures.memory_objects;
}

// cuMemMap: "This range must be an address reservation previously reserved with cuMemAddressReserve, and offset + size
// must be less than the size of the memory allocation" (equal is valid, too); offset: "Note: currently must be zero";
// "cuMemMap can only create mappings on VA range reservations that are not currently mapped."
void Memory::map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle, const char* by) {
  const std::shared_ptr<Physical> physical = physicals_.get(handle);
  check_granularity("the address of a mapping", address);
  check_granularity("the size of a mapping", bytes);
  if (offset != 0) refuse(Status::invalid_value, "the offset of a mapping must be zero");
  if (bytes == 0 || bytes > physical->bytes) {
    refuse(Status::invalid_value, "a mapping of %llu bytes of a memory object of %llu", static_cast<ull>(bytes),
           static_cast<ull>(physical->bytes));
  }
  auto reservation = reservations_.upper_bound(address);
  if (reservation == reservations_.begin() ||
      (--reservation, address + bytes > reservation->first + reservation->second)) {
    refuse(Status::invalid_value, "%llu bytes from 0x%llx are not within one reservation", static_cast<ull>(bytes),
           static_cast<ull>(address));
  }
  auto next = mappings_.lower_bound(address);
  if ((next != mappings_.end() && next->first < address + bytes) ||
      (next != mappings_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > address)) {
    refuse(Status::invalid_value, "memory is mapped in %llu bytes from 0x%llx already", static_cast<ull>(bytes),
           static_cast<ull>(address));
  }
  // "Please note calling cuMemMap does not make the address accessible".
  device_.map(address, bytes, physical->file, std::string("mapped by ") + by + ", access never granted");
  mappings_[address] = {bytes, physical};
  ++physical->mappings;
  ++counters_->figures.mappings;
}

// cuMemUnmap: "The range must be the entire contiguous address range that was mapped to. In other words, cuMemUnmap
// cannot unmap a sub-range of an address range mapped by cuMemCreate / cuMemMap."
// cuMemSetAccess: "The range must be a fully mapped address range containing all allocations created by cuMemMap".
std::pair<std::map<uint64_t, Memory::Mapping>::iterator, std::map<uint64_t, Memory::Mapping>::iterator> Memory::tiles(
    uint64_t address, uint64_t bytes) {
  auto first = mappings_.find(address);
  auto at = first;
  uint64_t end = address;
  while (at != mappings_.end() && at->first == end && end < address + bytes) {
    end += at->second.bytes;
    ++at;
  }
  if (bytes == 0 || end != address + bytes) {
    refuse(Status::invalid_value, "%llu bytes from 0x%llx are not one or more whole mappings side by side",
           static_cast<ull>(bytes), static_cast<ull>(address));
  }
  return {first, at};
}

void Memory::unmap(uint64_t address, uint64_t bytes, const char* by) {
  const auto [first, last] = tiles(address, bytes);
  for (auto at = first; at != last; ++at) {
    --at->second.physical->mappings;
    --counters_->figures.mappings;
    drop(at->second.physical);
  }
  mappings_.erase(first, last);
  // "the address range is converted to an address reservation".
  device_.unmap(address, bytes, std::string("mapped, then unmapped by ") + by);
}

// cuMemSetAccess: "Given the virtual address range via ptr and size, and the locations in the access array, set the
// access flags for the target locations." The access of another device needs peer access between the two, and leaves
// the owner's access as it is.
void Memory::set_access(uint64_t address, uint64_t bytes, int device, bool read, bool write, const char* by) {
  const auto [first, last] = tiles(address, bytes);
  if (first->second.physical->device != device) {
    if (!settings().peers) refuse(Status::invalid_device, "device %d cannot access the memory of another", device);
    return;
  }
  for (auto at = first; at != last; ++at) {
    device_.set_access(
        at->first, at->second.bytes, read, write,
        read ? std::string("mapped, with access by ") + by : std::string("mapped, without access by ") + by);
  }
  if (settings().protect) close();
}

}  // namespace tern::emulator
