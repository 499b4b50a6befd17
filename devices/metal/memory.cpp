#include "devices/metal/memory.h"

#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "devices/metal/status.h"

namespace tern::metal {
namespace {

std::mutex residency_mutex;

struct Allocation {
  std::shared_ptr<DeviceBuffer> buffer;
  std::uint64_t bytes;
};

/// Allocations by address. Tern allocates few large segments, so a look-up takes a handful of comparisons.
class Allocations {
 public:
  void add(tern_device_address address, Allocation allocation) {
    const std::unique_lock lock(mutex_);
    allocations_.emplace(address, std::move(allocation));
  }
  bool remove(tern_device_address address) {
    const std::unique_lock lock(mutex_);
    return allocations_.erase(address) != 0;
  }
  BufferRange find(tern_device_address address) {
    const std::shared_lock lock(mutex_);
    const auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return {};
    const auto& [begin, allocation] = *std::prev(after);
    const std::uint64_t offset = address - begin;
    if (offset > allocation.bytes) return {};  // an empty operand may lie at the end
    return {allocation.buffer->get(), offset, allocation.bytes - offset};
  }

 private:
  std::shared_mutex mutex_;
  std::map<tern_device_address, Allocation> allocations_;
};

Allocations& allocations() {
  static Allocations& all = *std::make_unique<Allocations>().release();  // never destroyed: other libraries'
                                                                         // destructors may use the object
  return all;
}

}  // namespace

DeviceBuffer::DeviceBuffer(Owned<MTL::Buffer> buffer, Owned<MTL::ResidencySet> residency)
    : buffer_(std::move(buffer)), residency_(std::move(residency)) {
  if (!residency_) return;
  const std::lock_guard lock(residency_mutex);
  residency_->addAllocation(buffer_.get());
  residency_->commit();
}

DeviceBuffer::~DeviceBuffer() {
  if (!residency_) return;
  const std::lock_guard lock(residency_mutex);
  residency_->removeAllocation(buffer_.get());
  residency_->commit();
}

std::shared_ptr<DeviceBuffer> new_buffer(const MetalDevice& device, std::uint64_t bytes) {
  auto buffer = adopt(device.device->newBuffer(bytes, MTL::ResourceStorageModeShared));
  return buffer ? std::make_shared<DeviceBuffer>(std::move(buffer), device.residency) : nullptr;
}

BufferRange range_of(tern_device_address address) {
  return allocations().find(address);
}

tern_device_status checked_range(tern_device_address address, std::uint64_t bytes, BufferRange& range) {
  range = range_of(address);
  if (range.buffer != nullptr && bytes <= range.bytes) return TERN_DEVICE_OK;
  return failed(TERN_DEVICE_INVALID, std::to_string(bytes) + " bytes from address " + std::to_string(address) +
                                         " on do not lie in one allocation");
}

tern_device_status allocate(std::int32_t device, std::uint64_t bytes, tern_device_address* address) {
  const Pool pool;
  const MetalDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  if (bytes > d->largest)
    return failed(TERN_DEVICE_OUT_OF_MEMORY, std::to_string(bytes) + " bytes are more than the largest buffer of " +
                                                 d->name + ", " + std::to_string(d->largest));
  // Metal allocates more than fits; command buffers would fail later.
  const std::uint64_t used = d->device->currentAllocatedSize();
  if (used + bytes > d->memory)
    return failed(TERN_DEVICE_OUT_OF_MEMORY, std::to_string(bytes) + " bytes are requested, but " +
                                                 std::to_string(used) + " of " + std::to_string(d->memory) +
                                                 " are in use");
  std::shared_ptr<DeviceBuffer> buffer = new_buffer(*d, bytes);
  if (!buffer) return failed(TERN_DEVICE_OUT_OF_MEMORY, "Metal has no buffer of " + std::to_string(bytes) + " bytes");
  *address = buffer->get()->gpuAddress();
  allocations().add(*address, {std::move(buffer), bytes});
  return TERN_DEVICE_OK;
}

tern_device_status release(std::int32_t, tern_device_address address) {
  const Pool pool;
  if (allocations().remove(address)) return TERN_DEVICE_OK;
  return failed(TERN_DEVICE_INVALID, "no allocation begins at address " + std::to_string(address));
}

}  // namespace tern::metal
