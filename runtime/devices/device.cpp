#include "runtime/devices/device.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/devices/range_allocator.h"
#include "runtime/devices/segment_allocator.h"

namespace tern {
namespace {

ErrorCode code_of(tern_device_status status) {
  switch (status) {
    case TERN_DEVICE_OUT_OF_MEMORY: return ErrorCode::out_of_memory;
    case TERN_DEVICE_UNSUPPORTED: return ErrorCode::unsupported;
    case TERN_DEVICE_INVALID:
    case TERN_DEVICE_COMPILE: return ErrorCode::internal;
    default: return ErrorCode::runtime;
  }
}

std::string what_there_is() {
  std::string list = "cpu";
  for (const Plugin& p : device_plugins()) {
    for (int i = 0; i < p.count; ++i) list += fmt::format(", {}:{}", p.name(), i);
  }
  return list;
}

/// "512M" as bytes; 0 for nothing.
std::uint64_t memory_limit_of_environment() {
  const char* text = std::getenv("TERN_DEVICE_MEMORY");
  if (text == nullptr || *text == 0) return 0;
  constexpr std::string_view kUnits = "KMGT";
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text, &end, 10);
  const std::string_view rest = end;
  const std::size_t unit = rest.size() == 1 ? kUnits.find(rest[0]) : std::string_view::npos;
  const int shift = rest.empty() ? 0 : 10 * static_cast<int>(unit + 1);
  if (*text < '0' || *text > '9' || (!rest.empty() && unit == std::string_view::npos) ||
      number > (~std::uint64_t{0} >> shift))
    fail(ErrorCode::invalid_argument,
         fmt::format("TERN_DEVICE_MEMORY is '{}'; write a number of bytes, optionally followed by K, M, G or T", text));
  return number << shift;
}

/// The plugin's table of that name, or null. T begins with its size, and all its members after `reserved` are
/// functions.
template <class T>
const T* extension(const tern_device_plugin& plugin, const char* name, std::size_t required) {
  const auto* table = static_cast<const T*>(plugin.get_extension(name, TERN_DEVICE_EXTENSION_VERSION));
  if (table == nullptr) return nullptr;
  if (table->size < required)
    fail(ErrorCode::unsupported,
         fmt::format("the plugin '{}' has a table '{}' of {} bytes, less than {}: compile it anew", plugin.name, name,
                     table->size, required));
  return table;
}

}  // namespace

Device& Device::open(const std::string& name) {
  static std::mutex mutex;
  // Never destroyed: at the end of the process drivers may be gone already, and memory is theirs to give back.
  static auto& devices = *new std::map<std::string, std::unique_ptr<Device>>;
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  std::size_t index = 0;
  if (colon != std::string::npos) {
    const std::string digits = name.substr(colon + 1);
    if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos)
      fail(ErrorCode::invalid_argument,
           fmt::format("'{}' is not a device name; the devices are: {}", name, what_there_is()));
    index = std::stoul(digits);
  }
  const std::lock_guard lock(mutex);
  for (const Plugin& p : device_plugins()) {
    if (p.name() != kind) continue;
    if (index >= static_cast<std::size_t>(p.count)) {
      fail(ErrorCode::invalid_argument, fmt::format("there is no device '{}'{}; there are: {}", name,
                                                    p.problem.empty() ? "" : " (" + p.problem + ")", what_there_is()));
    }
    auto& device = devices[fmt::format("{}:{}", kind, index)];
    if (device == nullptr) device = std::make_unique<Device>(p, static_cast<int>(index));
    return *device;
  }
  fail(ErrorCode::invalid_argument, fmt::format("there is no device '{}'; there are: {}. 'tern devices' says what was "
                                                "looked for, and why it was not loaded",
                                                name, what_there_is()));
}

Device::Device(const Plugin& plugin, int index)
    : table_(*plugin.table), index_(index), name_(fmt::format("{}:{}", plugin.name(), index)) {
  properties_.size = sizeof properties_;
  check(table_.properties(index_, &properties_), "asking for the properties");
  if (properties_.dialect < TERN_DIALECT_CPP || properties_.dialect > TERN_DIALECT_METAL) {
    fail(ErrorCode::unsupported,
         fmt::format("{} wants its kernels in dialect {}, which this version of Tern does not support", name_,
                     properties_.dialect));
  }
  graphs_ = extension<tern_device_graph_functions>(table_, "graph", sizeof(tern_device_graph_functions));
  conditionals_ = extension<tern_device_graph_conditional_functions>(table_, "graph_conditional",
                                                                     sizeof(tern_device_graph_conditional_functions));
  events_ = extension<tern_device_event_functions>(table_, "events", sizeof(tern_device_event_functions));
  overrides_ = extension<tern_device_override_functions>(table_, "override", sizeof(tern_device_override_functions));
  profiler_ = extension<tern_device_profiler_functions>(table_, "profiler", sizeof(tern_device_profiler_functions));
  pinned_memory_ = extension<tern_device_pinned_memory_functions>(table_, "pinned_memory",
                                                                  sizeof(tern_device_pinned_memory_functions));
  partitions_ =
      extension<tern_device_partition_functions>(table_, "partition", sizeof(tern_device_partition_functions));
  collectives_ =
      extension<tern_device_collective_functions>(table_, "collective", sizeof(tern_device_collective_functions));
  allocator_ = make_allocator();
  allocator_->set_limit(memory_limit_of_environment());
  target_.dialect = static_cast<portable::Dialect>(properties_.dialect);
  target_.has_double = (properties_.features & TERN_DEVICE_DOUBLE) != 0;
  target_.vector_floats = properties_.vector_floats;
  may_compile_ = !compiling_is_forbidden();
}

/// One range of addresses where the device can map memory, else segments.
std::unique_ptr<BlockAllocator> Device::make_allocator() {
  const auto* segments = extension<tern_device_memory_segment_functions>(table_, "memory_segments",
                                                                         sizeof(tern_device_memory_segment_functions));
  std::uint64_t piece = 0;
  tern_device_status status = segments == nullptr ? TERN_DEVICE_UNSUPPORTED : segments->piece(index_, &piece);
  if (status != TERN_DEVICE_UNSUPPORTED) {
    check(status, "asking how its memory is mapped");
    constexpr std::uint64_t kLeast = 256, kUnknown = std::uint64_t{1} << 40;
    if (piece < kLeast || piece % kLeast != 0 || piece > kUnknown)
      fail(ErrorCode::unsupported,
           fmt::format("{} maps memory in pieces of {} bytes; they must be multiples of {}", name_, piece, kLeast));
    // Twice what there is: free memory in small blocks does not keep a large one from finding addresses.
    const std::uint64_t memory = properties_.memory_bytes == 0 ? kUnknown : properties_.memory_bytes;
    const std::uint64_t bytes = (2 * std::min(memory, kUnknown) + piece - 1) / piece * piece;
    tern_device_address begin = 0;
    check(segments->reserve(index_, bytes, &begin), "reserving addresses");
    maps_memory_ = true;
    return std::make_unique<RangeAllocator>(
        begin, bytes,
        RangeAllocator::Source{piece,
                               [this, segments](std::uint64_t address, std::uint64_t size) {
                                 const tern_device_status mapped = segments->map(index_, address, size);
                                 if (mapped == TERN_DEVICE_OUT_OF_MEMORY) return false;
                                 check(mapped, "mapping memory");
                                 return true;
                               },
                               [this, segments](std::uint64_t address, std::uint64_t size) {
                                 check(segments->unmap(index_, address, size), "giving memory back");
                               }});
  }
  return std::make_unique<SegmentAllocator>(SegmentAllocator::Source{
      [this](std::uint64_t bytes) -> std::uint64_t {
        tern_device_address address = 0;
        const tern_device_status given = table_.allocate(index_, bytes, &address);
        if (given == TERN_DEVICE_OUT_OF_MEMORY) return 0;
        check(given, "allocating memory");
        return address;
      },
      [this](std::uint64_t address) { check(table_.free(index_, address), "giving memory back"); }});
}

Device::~Device() {
  // Of one that export rehearses on; those that `open` has given stay.
  try {
    if (allocator_ != nullptr) allocator_->trim();
  } catch (const Error&) {
  }
}

void Device::check(tern_device_status status, const char* what) const {
  if (status == TERN_DEVICE_OK) return;
  const char* message = table_.last_message();
  fail(code_of(status), fmt::format("{}: {}: {}", name_, what, message == nullptr ? "no message" : message));
}

std::byte* Device::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  const std::uint64_t address = allocator_->allocate(bytes);
  if (address == 0) {
    const DeviceMemoryStats s = allocator_->stats();
    fail(ErrorCode::out_of_memory,
         fmt::format("{}: {} bytes could not be allocated ({} are in use, {} reserved{})", name_, bytes, s.used,
                     s.reserved, s.limit == 0 ? "" : fmt::format(", the limit is {}", s.limit)));
  }
  return reinterpret_cast<std::byte*>(address);
}

void Device::wait() noexcept {
  const std::lock_guard lock(streams_mutex_);
  for (const auto& [stream, recorded] : streams_) {
    if (!recorded) table_.stream_synchronize(index_, stream);
  }
}

void Device::free(std::byte* data) {
  if (data == nullptr) return;
  wait();  // whatever uses the block may be under way; a failure there is reported where its results are asked for
  const std::lock_guard lock(memory_mutex_);
  allocator_->free(reinterpret_cast<std::uint64_t>(data));
}

DeviceMemoryStats Device::memory() const {
  const std::lock_guard lock(memory_mutex_);
  return allocator_->stats();
}

void Device::set_memory_limit(std::uint64_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  allocator_->set_limit(bytes);
}

void Device::release_memory() {
  staging_.release();
  const std::lock_guard lock(memory_mutex_);
  allocator_->trim();
}

DeviceMemoryStats device_memory(const std::string& device) {
  return Device::open(device).memory();
}

void set_device_memory_limit(const std::string& device, std::uint64_t bytes) {
  Device::open(device).set_memory_limit(bytes);
}

void release_device_memory(const std::string& device) {
  Device::open(device).release_memory();
}

}  // namespace tern
