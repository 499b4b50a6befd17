// Memory and copies, following the rules of hip_runtime_api.h, quoted beside each function.
#include "tests/gpu/hip/allocation_properties.h"
#include "tests/gpu/hip/call.h"

using namespace tern::gpu::hip;
using tern::emulator::Direction;
using tern::emulator::Fill;
using tern::emulator::Memory;

namespace {

// A refusal by another error of HIP's.
template <class Work>
void as_pointer_error(const Work& work) {
  try {
    work();
  } catch (tern::emulator::Failure& failure) {
    failure.status = Status::invalid_value;
    throw;
  }
}

void check_location(const hipMemLocation& location, Machine& machine) {
  if (location.type != hipMemLocationTypeDevice) refuse(Status::invalid_value, "the location is no device");
  machine.check_device(location.id);
}
const AllocationProperties& check(const hipMemAllocationProp* prop, Machine& machine) {
  const auto& p = *reinterpret_cast<const AllocationProperties*>(required(prop, "prop"));
  if (p.type != hipMemAllocationTypePinned)
    refuse(Status::invalid_value, "the allocation's type is not hipMemAllocationTypePinned");
  check_location(p.location, machine);
  return p;
}

hipError_t copy(const char* name, Direction direction, const void* to, const void* from, size_t bytes,
                hipStream_t stream) {
  return call(name,
              [&](Machine& machine) { machine.copy(direction, handle(to), handle(from), bytes, handle(stream)); });
}

}  // namespace

// "If size is 0, no memory is allocated, *ptr returns nullptr, and hipSuccess is returned."
hipError_t hipMalloc(void** ptr, size_t size) {
  return call(__func__, Status::out_of_memory, [&](Machine& machine) {
    *required(ptr, "ptr") = nullptr;
    machine.unsafe();
    if (size != 0) *ptr = pointer<void*>(machine.memory.allocate(context(machine), size, "hipMalloc"));
  });
}
// "This API performs an implicit hipDeviceSynchronize() call. If pointer is NULL, the hip runtime is initialized and
// hipSuccess is returned."
hipError_t hipFree(void* ptr) {
  return call(__func__, [&](Machine& machine) {
    if (ptr == nullptr) return;
    machine.unsafe();
    finish_all(machine);
    machine.memory.free(handle(ptr), "hipFree");
  });
}
// "If size is 0, no memory is allocated, *ptr returns nullptr, and hipSuccess is returned."
hipError_t hipHostMalloc(void** ptr, size_t size, unsigned int flags) {
  return call(__func__, Status::out_of_memory, [&](Machine& machine) {
    *required(ptr, "ptr") = nullptr;
    machine.unsafe();
    if (size != 0) *ptr = pointer<void*>(machine.memory.allocate_pinned(context(machine), size, "hipHostMalloc"));
  });
}
hipError_t hipHostFree(void* ptr) {
  return call(__func__, [&](Machine& machine) {
    if (ptr == nullptr) return;  // "If pointer is NULL, the hip runtime is initialized and hipSuccess is returned."
    machine.unsafe();
    finish_all(machine);
    machine.memory.free_pinned(handle(ptr), "hipHostFree");
  });
}
hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  return call(__func__, [&](Machine& machine) {
    *required(free, "free") = machine.memory.free_bytes(device());
    *required(total, "total") = machine.memory.total(device());
  });
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, void* src, size_t bytes, hipStream_t stream) {
  return copy(__func__, Direction::in, dst, src, bytes, stream);
}
hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  return copy(__func__, Direction::out, dst, src, bytes, stream);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t bytes, hipStream_t stream) {
  return copy(__func__, Direction::device_to_device, dst, src, bytes, stream);
}
hipError_t hipMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t bytes,
                              hipStream_t stream) {
  return call(__func__, [&](Machine& machine) {
    machine.copy_peer(handle(dst), machine.check_device(dstDevice), handle(src), machine.check_device(srcDevice), bytes,
                      handle(stream));
  });
}
// "hipMemcpyDefault: Runtime will automatically determine copy-kind based on virtual addresses."
hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return call(__func__, [&](Machine& machine) {
    if (kind == hipMemcpyDefault) {
      const bool to = machine.memory.is_device(handle(dst)), from = machine.memory.is_device(handle(src));
      kind = to && from ? hipMemcpyDeviceToDevice
             : to       ? hipMemcpyHostToDevice
             : from     ? hipMemcpyDeviceToHost
                        : hipMemcpyHostToHost;
    }
    if (kind != hipMemcpyHostToDevice && kind != hipMemcpyDeviceToHost && kind != hipMemcpyDeviceToDevice) {
      refuse(Status::not_supported, "copies of kind %d are not emulated", static_cast<int>(kind));
    }
    const Direction direction = kind == hipMemcpyHostToDevice   ? Direction::in
                                : kind == hipMemcpyDeviceToHost ? Direction::out
                                                                : Direction::device_to_device;
    machine.copy(direction, handle(dst), handle(src), bytes, handle(stream));
  });
}
// "Fills the first sizeBytes bytes of the memory area pointed to by dev with the constant byte value value."
hipError_t hipMemsetAsync(void* dst, int value, size_t bytes, hipStream_t stream) {
  return call(__func__, [&](Machine& machine) {
    machine.fill(Fill{handle(dst), static_cast<std::uint32_t>(value & 0xFF), 1, bytes}, handle(stream));
  });
}

hipError_t hipMemGetAllocationGranularity(size_t* granularity, const hipMemAllocationProp* prop,
                                          hipMemAllocationGranularity_flags) {
  return call(__func__, [&](Machine& machine) {
    check(prop, machine);
    *required(granularity, "granularity") = Memory::kGranularity;
  });
}
// "addr - requested starting address of the range": only a hint, ignored by the emulator. "flags - currently unused,
// must be zero", here and below.
hipError_t hipMemAddressReserve(void** ptr, size_t size, size_t alignment, void*, unsigned long long flags) {
  return call(__func__, Status::out_of_memory, [&](Machine& machine) {
    no_flags(flags);
    *required(ptr, "ptr") = pointer<void*>(machine.memory.reserve(size, alignment, "hipMemAddressReserve"));
  });
}
hipError_t hipMemAddressFree(void* ptr, size_t size) {
  return call(__func__, [&](Machine& machine) { machine.memory.unreserve(handle(ptr), size, "hipMemAddressFree"); });
}
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* to, size_t size, const hipMemAllocationProp* prop,
                        unsigned long long flags) {
  return call(__func__, Status::out_of_memory, [&](Machine& machine) {
    no_flags(flags);
    const AllocationProperties& p = check(prop, machine);
    machine.unsafe();
    *required(to, "handle") = pointer<hipMemGenericAllocationHandle_t>(machine.memory.create(size, p.location.id));
  });
}
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t memory) {
  return call(__func__, [&](Machine& machine) { as_pointer_error([&] { machine.memory.release(handle(memory)); }); });
}
// "offset - offset into the memory, currently must be zero."
hipError_t hipMemMap(void* ptr, size_t size, size_t offset, hipMemGenericAllocationHandle_t memory,
                     unsigned long long flags) {
  return call(__func__, [&](Machine& machine) {
    no_flags(flags);
    as_pointer_error([&] { machine.memory.map(handle(ptr), size, offset, handle(memory), "hipMemMap"); });
  });
}
hipError_t hipMemUnmap(void* ptr, size_t size) {
  return call(__func__, [&](Machine& machine) { machine.memory.unmap(handle(ptr), size, "hipMemUnmap"); });
}
hipError_t hipMemSetAccess(void* ptr, size_t size, const hipMemAccessDesc* desc, size_t count) {
  return call(__func__, [&](Machine& machine) {
    required(desc, "desc");
    for (size_t i = 0; i < count; ++i) {
      check_location(desc[i].location, machine);
      const auto access = static_cast<unsigned>(desc[i].flags);
      machine.memory.set_access(handle(ptr), size, desc[i].location.id, (access & 1) != 0,
                                access == hipMemAccessFlagsProtReadWrite, "hipMemSetAccess");
    }
  });
}
