#include "runtime/devices/stream.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "runtime/devices/device.h"

namespace tern {
namespace {

[[noreturn]] void refuse_native(DeviceStream& stream) {
  fail(ErrorCode::unsupported,
       fmt::format("{}: the device has no vendor's streams besides Tern's", stream.device().name()));
}

}  // namespace

bool DeviceStream::enqueue_peer_copy(std::byte*, Device&, const std::byte*, std::uint64_t) {
  return false;
}

void DeviceStream::read(void* to, const std::byte* from, std::uint64_t bytes) {
  finish();
  enqueue_download(to, from, bytes);
  synchronize();
}

void* DeviceStream::native() {
  refuse_native(*this);
}
void DeviceStream::wait_native(void* stream) {
  refuse_native(*this);
}

}  // namespace tern
