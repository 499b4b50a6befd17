#include "runtime/devices/plugin/device.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "dtypes/printable.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/product_tiles.h"
#include "platform/environment.h"
#include "runtime/devices/plugin/constants.h"
#include "runtime/devices/plugin/override.h"
#include "runtime/devices/plugin/range_allocator.h"
#include "runtime/devices/plugin/segment_allocator.h"
#include "runtime/devices/plugin/stream.h"
#include "runtime/trace/recorder.h"
#include "runtime/trace/text.h"

namespace tern {
namespace {

ErrorCode error_code_of(tern_device_status status) {
  switch (status) {
    case TERN_DEVICE_OUT_OF_MEMORY: return ErrorCode::out_of_memory;
    case TERN_DEVICE_UNSUPPORTED: return ErrorCode::unsupported;
    case TERN_DEVICE_INVALID:
    case TERN_DEVICE_COMPILE: return ErrorCode::internal;
    default: return ErrorCode::runtime;
  }
}

/// Parses a size such as "512M"; 0 if unset.
std::uint64_t environment_memory_limit() {
  const std::string text = platform::trusted_variable("TERN_DEVICE_MEMORY").value_or("");
  if (text.empty()) return 0;
  constexpr std::string_view kUnits = "KMGT";
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  const std::string_view suffix = end;
  const std::size_t unit = suffix.size() == 1 ? kUnits.find(suffix[0]) : std::string_view::npos;
  const int shift = suffix.empty() ? 0 : 10 * static_cast<int>(unit + 1);
  if (text[0] < '0' || text[0] > '9' || (!suffix.empty() && unit == std::string_view::npos) ||
      number > (~std::uint64_t{0} >> shift))
    fail(ErrorCode::invalid_argument,
         fmt::format("TERN_DEVICE_MEMORY is '{}'; write a number of bytes, optionally followed by K, M, G or T", text));
  return number << shift;
}

}  // namespace

PluginDevice::PluginDevice(const Plugin& plugin, int index)
    : Device(fmt::format("{}:{}", plugin.name(), index), {}),
      plugin_(*plugin.table),
      index_(index),
      tables_(*plugin.table) {
  properties_.size = sizeof properties_;
  check(plugin_.properties(index_, &properties_), "asking for the properties");
  if (properties_.dialect < TERN_DIALECT_CPP || properties_.dialect > TERN_DIALECT_METAL) {
    fail(ErrorCode::unsupported,
         fmt::format("{} needs its kernels in dialect {}, which this version of Tern does not support", name(),
                     properties_.dialect));
  }
  allocator_ = make_allocator();
  allocator_->set_limit(environment_memory_limit());
  target_.dialect = static_cast<portable::Dialect>(properties_.dialect);
  target_.has_double = (properties_.features & TERN_DEVICE_DOUBLE) != 0;
  target_.vector_floats = properties_.vector_floats;
  target_.groups = (properties_.features & TERN_DEVICE_GROUPS) != 0;
  target_.sparse = (properties_.features & TERN_DEVICE_SPARSE) != 0;
  set_groups(target_.groups);
  kernel_targets_ = kernel_targets(properties_);
  may_compile_ = !compiling_is_forbidden();
}

/// Uses a single address range if the device can map memory, else segments.
std::unique_ptr<BlockAllocator> PluginDevice::make_allocator() {
  const auto* segments = tables_.memory_segments;
  std::uint64_t piece = 0;
  tern_device_status status = segments == nullptr ? TERN_DEVICE_UNSUPPORTED : segments->piece(index_, &piece);
  if (status != TERN_DEVICE_UNSUPPORTED) {
    check(status, "asking how its memory is mapped");
    constexpr std::uint64_t kPieceGranularity = 256, kMaxMemory = std::uint64_t{1} << 40;
    if (piece < kPieceGranularity || piece % kPieceGranularity != 0 || piece > kMaxMemory)
      fail(ErrorCode::unsupported, fmt::format("{} maps memory in pieces of {} bytes; they must be multiples of {}",
                                               name(), piece, kPieceGranularity));
    // Reserves twice the available memory: fragments of free memory then never keep a large block from finding
    // addresses.
    const std::uint64_t memory = properties_.memory_bytes == 0 ? kMaxMemory : properties_.memory_bytes;
    const std::uint64_t bytes = (2 * std::min(memory, kMaxMemory) + piece - 1) / piece * piece;
    tern_device_address begin = 0;
    check(segments->reserve(index_, bytes, &begin), "reserving addresses");
    maps_memory_ = true;
    return std::make_unique<RangeAllocator>(
        begin, bytes,
        RangeAllocator::Source{piece,
                               [this, segments](std::uint64_t address, std::uint64_t size) {
                                 const tern_device_status map_status = segments->map(index_, address, size);
                                 if (map_status == TERN_DEVICE_OUT_OF_MEMORY) return false;
                                 check(map_status, "mapping memory");
                                 return true;
                               },
                               [this, segments](std::uint64_t address, std::uint64_t size) {
                                 check(segments->unmap(index_, address, size), "giving memory back");
                               }});
  }
  return std::make_unique<SegmentAllocator>(SegmentAllocator::Source{
      [this](std::uint64_t bytes) -> std::uint64_t {
        tern_device_address address = 0;
        const tern_device_status status = plugin_.allocate(index_, bytes, &address);
        if (status == TERN_DEVICE_OUT_OF_MEMORY) return 0;
        check(status, "allocating memory");
        return address;
      },
      [this](std::uint64_t address) { check(plugin_.free(index_, address), "giving memory back"); }});
}

PluginDevice::~PluginDevice() {
  // Only devices of export's rehearsals are destroyed; devices returned by `open` live until the process ends.
  try {
    if (allocator_ != nullptr) release_memory();
  } catch (const Error&) {
  }
}

void PluginDevice::check(tern_device_status status, const char* what) const {
  if (status == TERN_DEVICE_OK) return;
  const char* message = plugin_.last_message();
  fail(error_code_of(status),
       fmt::format("{}: {}: {}", name(), what, message == nullptr ? "no message" : indented(message)));
}

void PluginDevice::reap() {
  for (const std::uint64_t address : pending_.take_finished()) allocator_->free(address);
}

void PluginDevice::finish_pending(std::unique_lock<std::mutex>& lock) {
  PendingBlocks waited(*this);
  waited.swap(pending_);
  lock.unlock();
  const std::vector<std::uint64_t> addresses = waited.finish();
  lock.lock();
  for (const std::uint64_t address : addresses) allocator_->free(address);
}

std::uint64_t PluginDevice::find_memory(std::uint64_t bytes, DeviceStream* user, std::unique_lock<std::mutex>& lock) {
  if (pending_.empty()) return allocator_->allocate(bytes);
  reap();
  auto* const stream = static_cast<PluginStream*>(user);
  const std::uint64_t size = block_size(bytes);
  if (stream != nullptr)
    if (const std::uint64_t own = pending_.take_own(size, *stream); own != 0) return own;
  std::uint64_t address = allocator_->allocate(bytes);
  if (address != 0 || pending_.empty()) return address;
  if (stream != nullptr) address = pending_.take_after_wait(size, *stream);
  if (address == 0) {
    finish_pending(lock);
    address = allocator_->allocate(bytes);
  }
  allocator_->forget_failure();  // counts an allocation once
  return address;
}

std::byte* PluginDevice::allocate(std::uint64_t bytes, DeviceStream* user) {
  std::unique_lock lock(memory_mutex_);
  const std::uint64_t address = find_memory(bytes, user, lock);
  if (address == 0) {
    const DeviceMemoryStats s = allocator_->stats();
    fail(ErrorCode::out_of_memory,
         fmt::format("{}: {} bytes could not be allocated ({} are in use, {} reserved{})", name(), bytes, s.used,
                     s.reserved, s.limit == 0 ? "" : fmt::format(", the limit is {}", s.limit)));
  }
  if (const auto recorder = TraceRecorder::active())
    recorder->allocated(*this, reinterpret_cast<const void*>(address), bytes);
  return reinterpret_cast<std::byte*>(address);
}

std::string PluginDevice::describe() const {
  const auto text = [](const char* chars, std::size_t size) { return escaped({chars, strnlen(chars, size)}); };
  return fmt::format("\"name\": \"{}\", \"totalGlobalMem\": {}, \"numSms\": {}, \"driver\": \"{}\"",
                     text(properties_.name, sizeof properties_.name), properties_.memory_bytes, properties_.units,
                     text(properties_.driver, sizeof properties_.driver));
}

bool PluginDevice::marks_any_thread() const {
  return tables_.events != nullptr && (tables_.events->flags & TERN_DEVICE_EVENTS_ANY_THREAD) != 0;
}

StreamMarks PluginDevice::mark_streams() noexcept {
  const bool any_thread = marks_any_thread();
  StreamMarks marks(*this);
  const std::lock_guard lock(streams_mutex_);
  for (PluginStream* const s : streams_) {
    if (s->recorded_ && s->before_recording_) s->before_recording_->wait();
    if (s->recorded_ || (any_thread && !s->may_be_pending())) continue;
    if (!any_thread || !marks.add(s->stream_)) plugin_.stream_synchronize(index_, s->stream_);
  }
  return marks;
}

void PluginDevice::wait() noexcept {
  mark_streams().wait();
}

std::byte* PluginDevice::allocate_host(std::uint64_t bytes) {
  std::byte* pinned = pinned_.allocate(bytes);
  return pinned != nullptr ? pinned : Device::allocate_host(bytes);
}

void PluginDevice::free_host(std::byte* data) {
  if (data != nullptr && !pinned_.free(data)) Device::free_host(data);
}

void PluginDevice::free(std::byte* data) {
  if (data == nullptr) return;
  if (const auto recorder = TraceRecorder::active()) recorder->freed(*this, data);
  StreamMarks marks = mark_streams();  // pending work may use the block
  const auto address = reinterpret_cast<std::uint64_t>(data);
  const std::lock_guard lock(memory_mutex_);
  reap();
  if (marks.empty()) return allocator_->free(address);
  pending_.add(address, allocator_->size_of(address), std::move(marks));
}

DeviceMemoryStats PluginDevice::memory() const {
  const std::lock_guard lock(memory_mutex_);
  DeviceMemoryStats stats = allocator_->stats();
  stats.used -= pending_.bytes();
  return stats;
}

void PluginDevice::set_memory_limit(std::uint64_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  allocator_->set_limit(bytes);
}

void PluginDevice::release_memory() {
  staging_.release();
  std::unique_lock lock(memory_mutex_);
  finish_pending(lock);
  allocator_->trim();
}

std::shared_ptr<DeviceStream> PluginDevice::open_stream(const StreamShare& share) {
  return std::make_shared<PluginStream>(*this, share);
}

const KernelTable& PluginDevice::kernels(bool reproducible) const {
  if (reproducible) return portable_kernels();
  return tables_.overrides == nullptr ? faster_portable_kernels() : overridden_kernels();
}

bool PluginDevice::takes_precision() const {
  // Archives hold the same matrix-unit kernels with and without a vendor library.
  return tables_.overrides != nullptr || portable::has_units(target_, DType::bf16, DType::bf16);
}

std::shared_ptr<Constants> PluginDevice::constants(const Program& program, bool in_place) {
  return std::make_shared<DeviceConstants>(program, *this, in_place);
}

}  // namespace tern
