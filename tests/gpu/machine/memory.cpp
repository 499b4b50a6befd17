#include "tests/gpu/machine/memory.h"

#include "tests/gpu/machine/settings.h"

namespace tern::emulator {

using ull = unsigned long long;

void Memory::reserve(int device, uint64_t bytes) {
  if (bytes > free_bytes(device)) {
    refuse(Status::out_of_memory, "%llu bytes are asked for, and %llu of %llu are free", static_cast<ull>(bytes),
           static_cast<ull>(free_bytes(device)), static_cast<ull>(total(device)));
  }
  used_[device] += bytes;
  counters_->figures.memory += bytes;
  counters_->figures.peak_memory = std::max(counters_->figures.peak_memory, counters_->figures.memory);
}

void Memory::release(int device, uint64_t bytes) {
  used_[device] -= bytes;
  counters_->figures.memory -= bytes;
}

uint64_t Memory::total(int /*device*/) const {
  return settings().memory;
}

uint64_t Memory::free_bytes(int device) const {
  auto at = used_.find(device);
  return total(device) - (at == used_.end() ? 0 : at->second);
}

uint64_t Memory::allocate(const std::shared_ptr<Context>& context, uint64_t bytes, const char* by) {
  // cuMemAlloc: "If bytesize is 0, cuMemAlloc() returns CUDA_ERROR_INVALID_VALUE."
  if (bytes == 0) refuse(Status::invalid_value, "an allocation of no bytes");
  reserve(context->device, bytes);
  uint64_t address = 0;
  try {
    address = device_.allocate(bytes, std::string("allocated by ") + by);
  } catch (...) {
    release(context->device, bytes);
    throw;
  }
  if (settings().protect) close();
  allocations_[address] = {bytes, context};
  ++counters_->figures.allocations;
  return address;
}

void Memory::free(uint64_t address, const char* by) {
  auto at = allocations_.find(address);
  if (at == allocations_.end()) {
    refuse(Status::invalid_value, "no allocation begins there: %s", device_.history(address).c_str());
  }
  device_.release(address, std::string("freed by ") + by);
  release(at->second.context->device, at->second.bytes);
  allocations_.erase(at);
  --counters_->figures.allocations;
}

uint64_t Memory::allocate_pinned(const std::shared_ptr<Context>& context, uint64_t bytes, const char* by) {
  if (bytes == 0) refuse(Status::invalid_value, "an allocation of no bytes");
  const uint64_t address = pinned_.allocate(bytes, std::string("allocated by ") + by);
  pinned_allocations_[address] = {bytes, context};
  ++counters_->figures.pinned_allocations;
  counters_->figures.pinned += bytes;
  counters_->figures.peak_pinned = std::max(counters_->figures.peak_pinned, counters_->figures.pinned);
  return address;
}

void Memory::free_pinned(uint64_t address, const char* by) {
  auto at = pinned_allocations_.find(address);
  if (at == pinned_allocations_.end()) {
    refuse(Status::invalid_value, "no pinned memory begins there: %s", pinned_.history(address).c_str());
  }
  pinned_.release(address, std::string("freed by ") + by);
  counters_->figures.pinned -= at->second.bytes;
  pinned_allocations_.erase(at);
  --counters_->figures.pinned_allocations;
}

uint64_t Memory::free_all(const Context& context) {
  uint64_t count = 0;
  for (auto at = allocations_.begin(); at != allocations_.end();) {
    const auto [address, allocation] = *at++;
    if (allocation.context.get() != &context) continue;
    free(address, "the end of its context");
    ++count;
  }
  for (auto at = pinned_allocations_.begin(); at != pinned_allocations_.end();) {
    const auto [address, allocation] = *at++;
    if (allocation.context.get() != &context) continue;
    free_pinned(address, "the end of its context");
    ++count;
  }
  return count;
}

void Memory::check_device(uint64_t address, uint64_t bytes, const char* what) const {
  const std::string wrong = device_.wrong(address, bytes);
  if (!wrong.empty()) {
    refuse(Status::invalid_value, "%s of %llu bytes from 0x%llx: %s", what, static_cast<ull>(bytes),
           static_cast<ull>(address), wrong.c_str());
  }
}

int Memory::device_of(uint64_t address) const {
  auto mapping = mappings_.upper_bound(address);
  if (mapping != mappings_.begin() && (--mapping, address < mapping->first + mapping->second.bytes))
    return mapping->second.physical->device;
  auto allocation = allocations_.upper_bound(address);
  if (allocation != allocations_.begin() && (--allocation, address < allocation->first + allocation->second.bytes))
    return allocation->second.context->device;
  return -1;
}

bool Memory::is_pinned(uint64_t address, uint64_t bytes) const {
  return pinned_.contains(address) && pinned_.wrong(address, bytes).empty();
}

std::string Memory::history(uint64_t address) const {
  if (device_.contains(address)) return device_.history(address);
  return pinned_.contains(address) ? pinned_.history(address) : "";
}

std::string Memory::wrong(uint64_t address, uint64_t bytes) const {
  if (device_.contains(address)) return device_.wrong(address, bytes);
  return pinned_.contains(address) ? pinned_.wrong(address, bytes) : "";
}

}  // namespace tern::emulator
