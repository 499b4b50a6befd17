#include "tests/gpu/metal/device.h"

#include <cstring>
#include <memory>

#include "tests/gpu/machine/settings.h"
#include "tests/gpu/metal/buffer.h"
#include "tests/gpu/metal/compiler.h"
#include "tests/gpu/metal/foundation.h"
#include "tests/gpu/metal/metal4.h"
#include "tests/gpu/metal/queue.h"
#include "tests/gpu/metal/shared_event.h"
#include "tests/gpu/metal/system.h"

namespace tern::emulator::metal {
namespace {

Class& device_class() {
  static Class& type = make_class("MTLDevice", nullptr,
                                  {{"name", method<&Device::name>()},
                                   {"supportsFamily:", method<&Device::supports>()},
                                   {"hasUnifiedMemory", method<&Device::unified>()},
                                   {"recommendedMaxWorkingSetSize", method<&Device::working_set>()},
                                   {"maxBufferLength", method<&Device::largest_buffer>()},
                                   {"currentAllocatedSize", method<&Device::allocated>()},
                                   {"newBufferWithLength:options:", method<&Device::buffer>()},
                                   {"newBufferWithBytes:length:options:", method<&Device::buffer_of>()},
                                   {"newCommandQueue", method<&Device::queue>()},
                                   {"newSharedEvent", method<&Device::shared_event>()},
                                   {"newLibraryWithSource:options:error:", method<&Device::library>()},
                                   {"newComputePipelineStateWithFunction:error:", method<&Device::pipeline>()},
                                   {"newMTL4CommandQueue", method<&Device::queue4>()},
                                   {"newCommandAllocator", method<&Device::allocator4>()},
                                   {"newCommandBuffer", method<&Device::command_buffer4>()},
                                   {"newArgumentTableWithDescriptor:error:", method<&Device::argument_table4>()},
                                   {"newResidencySetWithDescriptor:error:", method<&Device::residency_set>()}});
  return type;
}

std::vector<Device*>& all_devices() {
  static std::vector<Device*>& all = [] {
    auto& made = *std::make_unique<std::vector<Device*>>().release();
    for (int i = 0; i < settings().devices; ++i) made.push_back(std::make_unique<Device>(i).release());
    return std::ref(made);
  }();
  return all;
}

}  // namespace

Device::Device(int index) : Object(device_class()), index(index) {}

Object* Device::name() {
  return string("Apple M (emulated)");
}

bool Device::supports(std::int64_t family) {
  constexpr std::int64_t kMetal3 = 5001, kMetal4 = 5002;  // MTLGPUFamilyMetal3, MTLGPUFamilyMetal4
  return family == kMetal3 || (family == kMetal4 && system_version() >= 26);
}

std::uint64_t Device::working_set() {
  return Machine::get().memory.total(index);
}

// Half of the memory: Tern asks for less.
std::uint64_t Device::largest_buffer() {
  return Machine::get().memory.total(index) / 2;
}

std::uint64_t Device::allocated() {
  return allocated_bytes(index);
}

Object* Device::buffer(std::uint64_t bytes, std::uint64_t options) {
  return new_buffer(index, bytes, options);
}

Object* Device::buffer_of(const void* from, std::uint64_t bytes, std::uint64_t options) {
  Object* made = new_buffer(index, bytes, options);
  if (made != nullptr) std::memcpy(static_cast<Buffer*>(made)->contents(), from, bytes);
  return made;
}

Object* Device::queue() {
  return fails(current_method()) ? nullptr : new_queue(index);
}
Object* Device::shared_event() {
  return fails(current_method()) ? nullptr : new_shared_event();
}
Object* Device::queue4() {
  return fails(current_method()) ? nullptr : new_queue4(index);
}
Object* Device::allocator4() {
  return new_allocator4();
}
Object* Device::command_buffer4() {
  return new_command_buffer4();
}
Object* Device::argument_table4(Object* descriptor, Object**) {
  return new_argument_table4(descriptor);
}
Object* Device::residency_set(Object*, Object**) {
  return new_residency_set();
}
Object* Device::library(Object* text, Object* options, Object** error) {
  return new_library(index, static_cast<String*>(text)->text, options, error);
}
Object* Device::pipeline(Object* function, Object** error) {
  return new_pipeline(function, error);
}

}  // namespace tern::emulator::metal

using namespace tern::emulator::metal;

// "MTLCopyAllDevices": the caller releases the array.
extern "C" __attribute__((visibility("default"))) Object* MTLCopyAllDevices() {
  const MethodCall call("MTLCopyAllDevices");
  auto array = std::make_unique<Array>();
  if (!fails("MTLCopyAllDevices"))
    for (Device* device : all_devices()) array->objects.emplace_back(device);
  return array.release();
}

// Referenced by metal-cpp; the plugin calls none of these.
extern "C" __attribute__((visibility("default"))) Object* MTLCreateSystemDefaultDevice() {
  const auto& all = all_devices();
  return all.empty() ? nullptr : all.front();
}
extern "C" __attribute__((visibility("default"))) Object* MTLCopyAllDevicesWithObserver(Object**, void*) {
  tern::emulator::fatal("the stand-in for Metal has no observers of devices");
}
extern "C" __attribute__((visibility("default"))) void MTLRemoveDeviceObserver(Object*) {}
