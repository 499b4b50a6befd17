#include "runtime/devices/plugin/stream.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <bit>
#include <cstring>

#include "kernels/portable/failure.h"
#include "kernels/portable/launches.h"
#include "runtime/devices/plugin/event.h"
#include "runtime/devices/plugin/override.h"
#include "runtime/devices/plugin/upload.h"

namespace tern {
namespace {

class DeviceBlock : public portable::Memory {
 public:
  DeviceBlock(PluginStream& stream, std::uint64_t bytes) : device_(stream.device()) {
    data = device_.allocate(bytes, &stream);
  }
  ~DeviceBlock() override { device_.free(data); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

 private:
  PluginDevice& device_;
};

tern_device_address address_stream(const std::byte* p) {
  return reinterpret_cast<tern_device_address>(p);
}

}  // namespace

PluginStream::PluginStream(PluginDevice& device, const StreamShare& share) : device_(device) {
  if (share.units == 0 && share.queues == 0) {
    device_.check(device_.plugin().stream_create(device_.index(), &stream_), "making a stream");
  } else {
    share_ = create_on_part(share);
  }
  const std::lock_guard lock(device_.streams_mutex_);
  device_.streams_.insert(this);
}

StreamShare PluginStream::create_on_part(const StreamShare& share) {
  if (share.units < 1 || share.queues < 0)
    fail(ErrorCode::invalid_argument,
         fmt::format("a part cannot have {} multiprocessors with {} queues: units count from 1", share.units,
                     share.queues));
  const tern_device_share_functions* shares = device_.tables().shares;
  if (shares == nullptr)
    fail(ErrorCode::unsupported, fmt::format("the device '{}' has no parts: leave out the share", device_.name()));
  tern_device_share asked{};
  asked.size = sizeof asked;
  asked.units = static_cast<std::uint32_t>(share.units);
  asked.queues = static_cast<std::uint32_t>(share.queues);
  const tern_device_status status = shares->stream_create(device_.index(), &asked, &stream_);
  if (status == TERN_DEVICE_INVALID)  // the share exceeds the device
    fail(ErrorCode::invalid_argument, fmt::format("{}: {}", device_.name(), device_.plugin().last_message()));
  device_.check(status, "making a stream on a part of the device");
  return {static_cast<int>(asked.units), static_cast<int>(asked.queues)};
}

PluginStream::~PluginStream() {
  failure_.reset();
  if (query_event_ != nullptr) {
    settle();
    device_.plugin().event_destroy(device_.index(), query_event_);
  }
  {
    const std::lock_guard lock(device_.streams_mutex_);
    device_.streams_.erase(this);
  }
  device_.plugin().stream_destroy(device_.index(), stream_);
}

void PluginStream::launch(portable::KernelHandle kernel, std::span<const portable::LaunchArgument> arguments,
                          std::int64_t items, std::uint32_t group) {
  constexpr std::size_t kMaxArguments = 80;
  if (arguments.size() > kMaxArguments)
    fail(ErrorCode::unsupported, "a kernel has more arguments than a launch supports");
  std::array<tern_device_argument, kMaxArguments> list;
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
  const WatchedCall watched(watch_, StreamWatch::Call::launch, 0, kernel);
  device_.check(device_.plugin().launch(device_.index(), stream_, handle, &launch), "launching a kernel");
}

void PluginStream::run_graph(tern_device_graph graph) {
  idle_ = false;
  device_.check(device_.tables().graphs->launch(device_.index(), stream_, graph), "launching a graph");
  may_have_failed_ = true;
}

void PluginStream::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0 || to == from) return;
  idle_ = false;
  const WatchedCall watched(watch_, StreamWatch::Call::within, bytes);
  device_.check(device_.plugin().copy_within(device_.index(), stream_, address_stream(to), address_stream(from), bytes),
                "copying within the device");
}

void PluginStream::enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  refuse_while_recorded("the host's memory is read");
  idle_ = false;
  const WatchedCall watched(watch_, StreamWatch::Call::to_device, bytes);
  device_.check(device_.plugin().copy_to_device(device_.index(), stream_, address_stream(to), from, bytes),
                "copying to the device");
}

void PluginStream::enqueue_download(void* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  refuse_while_recorded("the host's memory is written");
  idle_ = false;
  const WatchedCall watched(watch_, StreamWatch::Call::to_host, bytes);
  device_.check(device_.plugin().copy_to_host(device_.index(), stream_, to, address_stream(from), bytes),
                "copying from the device");
}

bool PluginStream::enqueue_peer_copy(std::byte* to, Device& device, const std::byte* from, std::uint64_t bytes) {
  const auto* const other = dynamic_cast<const PluginDevice*>(&device);
  const tern_device_peer_functions* const peers = device_.tables().peers;
  if (peers == nullptr || other == nullptr || &other->plugin() != &device_.plugin()) return false;
  refuse_while_recorded("another device's memory is read");
  idle_ = false;
  const WatchedCall watched(watch_, StreamWatch::Call::within, bytes);
  const tern_device_status status =
      peers->copy(device_.index(), stream_, address_stream(to), other->index(), address_stream(from), bytes);
  if (status != TERN_DEVICE_UNSUPPORTED) device_.check(status, "copying between devices");
  return status == TERN_DEVICE_OK;
}

void PluginStream::upload(std::byte* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  enqueue_upload(to, from, bytes);
  synchronize();
}

void PluginStream::download(void* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  enqueue_download(to, from, bytes);
  synchronize();
}

std::unique_ptr<portable::Memory> PluginStream::allocate(std::uint64_t bytes) {
  return std::make_unique<DeviceBlock>(*this, bytes);
}

std::byte* PluginStream::failure() {
  if (failure_ == nullptr) {
    std::unique_ptr<portable::Memory> word = allocate(sizeof(std::int32_t));
    const std::int32_t none = 0;
    upload(word->data, &none, sizeof none);
    failure_ = std::move(word);
  }
  may_have_failed_ = true;
  return failure_->data;
}

void PluginStream::synchronize() {
  refuse_while_recorded("the host waits");
  const WatchedCall watched(watch_, StreamWatch::Call::wait);
  device_.check(device_.plugin().stream_synchronize(device_.index(), stream_), "waiting for the device");
  idle_ = true;
}

bool PluginStream::has_finished() {
  const tern_device_event_functions* events = device_.tables().events;
  if (idle_) return true;
  if (events == nullptr) {
    synchronize();
    return true;
  }
  // A pending earlier event precedes all later work.
  std::int32_t happened = 0;
  const bool again = query_event_ != nullptr;
  if (again) device_.check(events->query(device_.index(), query_event_, &happened), "asking for an event");
  if (again && happened == 0) return false;
  if (!again) device_.check(device_.plugin().event_create(device_.index(), &query_event_), "making an event");
  device_.check(device_.plugin().event_record(device_.index(), query_event_, stream_), "recording an event");
  device_.check(events->query(device_.index(), query_event_, &happened), "asking for an event");
  return happened != 0;
}

namespace {
constexpr std::uint64_t kWords = 64, kAnswer = 16;  // bytes awaited by the host; offset of the bytes of read()
}

void PluginStream::ask_for_failure() {
  words_.reserve(kWords, device_);
  if (may_have_failed_) enqueue_download(words_.data(), failure_->data, sizeof(std::int32_t));
}

void PluginStream::check_failure() {
  if (!may_have_failed_) return;
  std::int32_t number = 0;
  std::memcpy(&number, words_.data(), sizeof number);
  if (number != 0) {
    const std::int32_t none = 0;
    upload(failure_->data, &none, sizeof none);
  }
  may_have_failed_ = false;
  if (number != 0) fail(ErrorCode::runtime, portable::failure_message(number));
}

void PluginStream::finish() {
  if (may_have_failed_) ask_for_failure();
  synchronize();
  check_failure();
}

void PluginStream::read(void* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes > kWords - kAnswer) return DeviceStream::read(to, from, bytes);
  ask_for_failure();
  enqueue_download(words_.data() + kAnswer, from, bytes);
  synchronize();
  check_failure();
  std::memcpy(to, words_.data() + kAnswer, bytes);
}

void PluginStream::enqueue_failure(std::int32_t* to) {
  *to = 0;
  if (may_have_failed_) enqueue_download(to, failure_->data, sizeof *to);
}

void PluginStream::recover() noexcept {
  try {
    finish();
  } catch (const std::exception&) {
    // The error was reported already, or follows from a reported error.
  }
}

void PluginStream::settle() noexcept {
  if (!recorded_) device_.plugin().stream_synchronize(device_.index(), stream_);
}

void PluginStream::refuse_while_recorded(const char* what) const {
  if (recorded_) fail(ErrorCode::internal, fmt::format("{} while {} records a graph", what, device_.name()));
}

void PluginStream::set_recorded(bool recorded) {
  // Threads that free memory wait for this earlier work; nothing can be recorded on the stream meanwhile.
  std::unique_ptr<StreamMarks> before;
  if (recorded && may_be_pending()) {
    before = std::make_unique<StreamMarks>(device_);
    if (!device_.marks_any_thread() || !before->add(stream_)) {
      device_.plugin().stream_synchronize(device_.index(), stream_);  // the next wait reports errors
      before.reset();
    }
  }
  const std::lock_guard lock(device_.streams_mutex_);
  before_recording_.swap(before);
  recorded_ = recorded;
}

void PluginStream::copy(const TensorView& from, const TensorView& to) {
  portable::copy(*this, from, to);
}

void PluginStream::load(StorageSource& source, std::span<const StorageLoad> loads) {
  Upload upload(*this);
  for (const StorageLoad& l : loads) upload.add(source, l.storage, l.bytes, l.destination);
  upload.finish();
}

std::unique_ptr<portable::OwnKernel> PluginStream::own_kernel(const KernelCall& call) {
  return prepare_override(device_, call);
}

std::unique_ptr<DeviceEvent> PluginStream::record() {
  return std::make_unique<PluginEvent>(*this);
}

void PluginStream::wait(const DeviceEvent& event) {
  const auto handle = std::bit_cast<tern_device_event>(event.handle());
  device_.check(device_.plugin().stream_wait(device_.index(), stream_, handle), "waiting for an event");
}

void* PluginStream::native() {
  const tern_device_native_stream_functions* functions = device_.tables().native_streams;
  if (functions == nullptr) return DeviceStream::native();
  void* handle = nullptr;
  has_foreign_ = true;
  device_.check(functions->handle(device_.index(), stream_, &handle), "asking for the vendor's stream");
  return handle;
}

bool PluginStream::is_captured() {
  if (!has_foreign_) return false;
  const tern_device_native_stream_functions* functions = device_.tables().native_streams;
  std::int32_t captured = 0;
  if (functions->size >= sizeof *functions && functions->is_captured != nullptr)
    device_.check(functions->is_captured(device_.index(), stream_, &captured), "asking for a capture");
  return captured != 0;
}

void PluginStream::wait_native(void* stream) {
  const tern_device_native_stream_functions* functions = device_.tables().native_streams;
  if (functions == nullptr) return DeviceStream::wait_native(stream);
  refuse_while_recorded("it waits for another stream");
  idle_ = false;
  device_.check(functions->wait(device_.index(), stream_, stream), "waiting for the vendor's stream");
}

}  // namespace tern
