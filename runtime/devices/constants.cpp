#include "runtime/devices/constants.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "runtime/devices/stream.h"

namespace tern {

std::byte* DeviceConstants::address(std::uint32_t storage, DeviceStream& stream) {
  const std::lock_guard lock(mutex_);
  Buffer& copy = copies_[storage];
  if (copy.data() != nullptr) return copy.data();
  const std::uint64_t size = program_.storages[storage].size;
  const auto bytes = program_.source->bytes(storage);
  if (bytes.size() < size) fail(ErrorCode::bad_file, fmt::format("storage {} is shorter than it says", storage));
  Buffer filled;
  filled.reserve(std::max<std::uint64_t>(size, 64), &device_);
  stream.upload(filled.data(), bytes.data(), size);
  copy = std::move(filled);
  program_.source->release(storage);
  return copy.data();
}

}  // namespace tern
