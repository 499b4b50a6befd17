#include "runtime/devices/stream.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <bit>

#include "kernels/portable/failure.h"

namespace tern {
namespace {

class DeviceBlock : public portable::Memory {
 public:
  DeviceBlock(Device& device, std::uint64_t bytes) : device_(device) { data = device.allocate(bytes); }
  ~DeviceBlock() override { device_.free(data); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

 private:
  Device& device_;
};

tern_device_address address(const std::byte* p) {
  return reinterpret_cast<tern_device_address>(p);
}

}  // namespace

DeviceStream::DeviceStream(Device& device) : device_(device) {
  device_.check(device_.plugin().stream_create(device_.index(), &stream_), "making a stream");
  const std::lock_guard lock(device_.streams_mutex_);
  device_.streams_[stream_] = false;
}

DeviceStream::~DeviceStream() {
  failure_.reset();
  const std::lock_guard lock(device_.streams_mutex_);
  device_.streams_.erase(stream_);
  device_.plugin().stream_destroy(device_.index(), stream_);
}

void DeviceStream::launch(portable::KernelHandle kernel, std::span<const portable::Argument> arguments,
                          std::int64_t items, std::uint32_t group) {
  constexpr std::size_t kMost = 80;
  if (arguments.size() > kMost) fail(ErrorCode::unsupported, "a kernel has more arguments than a launch supports");
  std::array<tern_device_argument, kMost> list;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    list[i] = {arguments[i].data, arguments[i].size, arguments[i].is_address ? 1u : 0u};
  tern_device_launch launch{};
  launch.size = sizeof launch;
  launch.argument_count = static_cast<std::uint32_t>(arguments.size());
  launch.arguments = list.data();
  launch.items = static_cast<std::uint64_t>(items);
  launch.group = group;
  idle_ = false;
  const auto handle = std::bit_cast<tern_device_kernel>(kernel);
  device_.check(device_.plugin().launch(device_.index(), stream_, handle, &launch), "launching a kernel");
  ++launches_;
}

void DeviceStream::run_graph(tern_device_graph graph) {
  idle_ = false;
  device_.check(device_.graphs()->launch(device_.index(), stream_, graph), "launching a graph");
  may_have_failed_ = true;
}

void DeviceStream::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0 || to == from) return;
  idle_ = false;
  device_.check(device_.plugin().copy_within(device_.index(), stream_, address(to), address(from), bytes),
                "copying within the device");
}

void DeviceStream::enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  refuse_while_recorded("the host's memory is read");
  idle_ = false;
  device_.check(device_.plugin().copy_to_device(device_.index(), stream_, address(to), from, bytes),
                "copying to the device");
}

void DeviceStream::enqueue_download(void* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  refuse_while_recorded("the host's memory is written");
  idle_ = false;
  device_.check(device_.plugin().copy_to_host(device_.index(), stream_, to, address(from), bytes),
                "copying from the device");
}

void DeviceStream::upload(std::byte* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  enqueue_upload(to, from, bytes);
  synchronize();
}

void DeviceStream::download(void* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  enqueue_download(to, from, bytes);
  synchronize();
}

std::unique_ptr<portable::Memory> DeviceStream::allocate(std::uint64_t bytes) {
  return std::make_unique<DeviceBlock>(device_, bytes);
}

std::byte* DeviceStream::failure() {
  if (failure_ == nullptr) {
    std::unique_ptr<portable::Memory> word = allocate(sizeof(std::int32_t));
    const std::int32_t none = 0;
    upload(word->data, &none, sizeof none);
    failure_ = std::move(word);
  }
  may_have_failed_ = true;
  return failure_->data;
}

void DeviceStream::synchronize() {
  refuse_while_recorded("the host waits");
  device_.check(device_.plugin().stream_synchronize(device_.index(), stream_), "waiting for the device");
  idle_ = true;
}

void DeviceStream::finish() {
  if (!may_have_failed_) return synchronize();
  std::int32_t number = 0;
  download(&number, failure_->data, sizeof number);
  if (number != 0) {
    const std::int32_t none = 0;
    upload(failure_->data, &none, sizeof none);
  }
  may_have_failed_ = false;
  if (number != 0) fail(ErrorCode::runtime, std::string(portable::failure_message(number)));
}

void DeviceStream::enqueue_failure(std::int32_t* to) {
  *to = 0;
  if (may_have_failed_) enqueue_download(to, failure_->data, sizeof *to);
}

void DeviceStream::recover() noexcept {
  try {
    finish();
  } catch (const std::exception&) {
    // Told already, or a consequence of what was.
  }
}

void DeviceStream::settle() noexcept {
  if (!recorded_) device_.plugin().stream_synchronize(device_.index(), stream_);
}

void DeviceStream::refuse_while_recorded(const char* what) const {
  if (recorded_) fail(ErrorCode::internal, fmt::format("{} while {} records a graph", what, device_.name()));
}

void DeviceStream::set_recorded(bool recorded) {
  recorded_ = recorded;
  const std::lock_guard lock(device_.streams_mutex_);
  device_.streams_[stream_] = recorded;
}

DeviceStream::Recorded::Recorded(DeviceStream& stream) : stream_(stream) {
  Device& d = stream.device_;
  const tern_device_status status = d.graphs()->begin(d.index(), stream.stream_);
  open_ = status != TERN_DEVICE_UNSUPPORTED;
  if (!open_) return;
  d.check(status, "beginning a graph");
  stream.set_recorded(true);
}

tern_device_status DeviceStream::Recorded::stop(tern_device_graph* graph) {
  open_ = false;
  stream_.set_recorded(false);
  return stream_.device_.graphs()->end(stream_.device_.index(), stream_.stream_, graph);
}

DeviceStream::Recorded::~Recorded() {
  if (open_) stop(nullptr);
}

tern_device_graph DeviceStream::Recorded::end() {
  tern_device_graph graph = nullptr;
  const tern_device_status status = stop(&graph);
  if (status == TERN_DEVICE_UNSUPPORTED) return nullptr;
  stream_.device_.check(status, "making a graph");
  return graph;
}

}  // namespace tern
