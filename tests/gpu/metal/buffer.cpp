#include "tests/gpu/metal/buffer.h"

#include <memory>

#include "tests/gpu/machine/pointer.h"
#include "tests/gpu/metal/system.h"

namespace tern::emulator::metal {
namespace {

Class& buffer_class() {
  static Class& type = make_class("MTLBuffer", destroy<Buffer>,
                                  {{"contents", method<&Buffer::contents>()},
                                   {"gpuAddress", method<&Buffer::gpu_address>()},
                                   {"length", method<&Buffer::length>()}});
  return type;
}

}  // namespace

Buffer::Buffer(int device, std::uint64_t bytes) : Object(buffer_class()), bytes(bytes) {
  address = Machine::get().memory.allocate(context_of(device), bytes, current_method());
}
Buffer::~Buffer() {
  Machine::get().memory.free(address, "its last release");
}

void* Buffer::contents() {
  return pointer<void>(address);
}
std::uint64_t Buffer::gpu_address() {
  return address | kGpuBit;
}

Object* new_buffer(int device, std::uint64_t bytes, std::uint64_t options) {
  // MTLResourceOptions: shared storage, default cache, default (tracked) hazards are all zero. The stand-in orders all
  // commands of a queue, so it cannot show effects of untracked hazards.
  if (options != 0)
    fatal("a buffer with options 0x%llx: the stand-in has shared, tracked buffers",
          static_cast<unsigned long long>(options));
  if (fails(current_method())) return nullptr;
  Machine& machine = Machine::get();
  context_of(device);
  // MTLDevice: nil without memory. An empty buffer is a mistake reported by Metal's validation.
  if (bytes == 0) fatal("%s: a buffer of no bytes", current_method());
  if (bytes > machine.memory.free_bytes(device)) return nullptr;
  return std::make_unique<Buffer>(device, bytes).release();
}

std::uint64_t allocated_bytes(int device) {
  Machine& machine = Machine::get();
  return machine.memory.total(device) - machine.memory.free_bytes(device);
}

}  // namespace tern::emulator::metal
