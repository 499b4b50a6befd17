#include "runtime/devices/plugin/constants.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <map>

namespace tern {

DeviceConstants::DeviceConstants(const Program& program, PluginDevice& device, bool in_place)
    : program_(program),
      device_(device),
      uses_storage_in_place_(in_place && (device.properties().features & TERN_DEVICE_HOST_MEMORY) != 0),
      addresses_(program.storages.size(), nullptr),
      copies_(program.storages.size()) {}

void DeviceConstants::bring(std::span<const std::uint32_t> storages, DeviceStream& stream) {
  const std::lock_guard lock(mutex_);
  std::map<std::uint32_t, Buffer> copied;
  std::vector<StorageLoad> loads;
  for (const std::uint32_t storage : storages) {
    const std::uint64_t size = program_.storages[storage].size;
    if (addresses_[storage] != nullptr || copied.contains(storage)) continue;
    if (uses_storage_in_place_ && size > 0) {
      const auto bytes = program_.source->bytes(storage);
      if (bytes.size() < size)
        fail(ErrorCode::bad_file, fmt::format("storage {} has fewer bytes than declared", storage));
      addresses_[storage] = const_cast<std::byte*>(bytes.data());  // the planner never writes to constants
      continue;
    }
    Buffer& to = copied[storage];
    to.reserve(size, device_);
    loads.push_back({storage, size, to.data()});
  }
  if (!loads.empty()) stream.load(*program_.source, loads);
  for (auto& [storage, buffer] : copied) {
    copies_[storage] = std::move(buffer);
    addresses_[storage] = copies_[storage].data();
    program_.source->release(storage);
  }
}

std::byte* DeviceConstants::address(std::uint32_t storage, DeviceStream& stream) {
  bring({&storage, 1}, stream);
  return addresses_[storage];
}

}  // namespace tern
