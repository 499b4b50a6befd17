// Memory, pinned memory, memory objects, copies and fills.
#include "tests/gpu/cuda/call.h"

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

// Supported properties of memory objects: pinned memory of a device, not shared.
int device_of(Machine& machine, const CUmemAllocationProp* properties) {
  const CUmemAllocationProp& p = require(properties, "prop");
  if (p.type != CU_MEM_ALLOCATION_TYPE_PINNED) refuse(Status::invalid_value, "prop->type is %d, not PINNED", p.type);
  if (p.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    refuse(Status::not_supported, "prop->location.type is %d: only memory of devices is emulated", p.location.type);
  }
  if (p.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    refuse(Status::not_supported, "memory objects that are shared with other processes are not emulated");
  }
  return machine.check_device(p.location.id);
}

}  // namespace

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return call("cuMemAlloc_v2", 3020, [&](Machine& machine) {
    const auto context = machine.current();
    require(address, "dptr");
    machine.unsafe();
    *address = machine.memory.allocate(context, bytes, current_call());
  });
}

// "For all other pointers, this API may perform implicit synchronization." Callers must not rely on synchronization:
// the emulator does none.
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) {
  return call("cuMemFree_v2", 3020, [&](Machine& machine) {
    machine.current();
    if (address == 0) return;
    machine.unsafe();
    machine.memory.free(address, current_call());
  });
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t* free, size_t* total) {
  return call("cuMemGetInfo_v2", 3020, [&](Machine& machine) {
    const auto context = machine.current();
    require(free, "free") = machine.memory.free_bytes(context->device);
    require(total, "total") = machine.memory.total(context->device);
  });
}

CUresult CUDAAPI cuMemHostAlloc(void** address, size_t bytes, unsigned int flags) {
  return call("cuMemHostAlloc", 2020, [&](Machine& machine) {
    const auto context = machine.current();
    require(address, "pp");
    const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if ((flags & ~known) != 0) refuse(Status::invalid_value, "flags 0x%x", flags);
    machine.unsafe();
    *address = handle<void*>(machine.memory.allocate_pinned(context, bytes, current_call()));
  });
}

CUresult CUDAAPI cuMemFreeHost(void* address) {
  return call("cuMemFreeHost", 2000, [&](Machine& machine) {
    machine.current();
    machine.unsafe();
    machine.memory.free_pinned(number(address), current_call());
  });
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return call("cuMemcpyHtoDAsync_v2", 3020, [&](Machine& machine) {
    machine.current();
    machine.copy(Direction::in, to, number(from), bytes, number(stream));
  });
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call("cuMemcpyDtoHAsync_v2", 3020, [&](Machine& machine) {
    machine.current();
    machine.copy(Direction::out, number(to), from, bytes, number(stream));
  });
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call("cuMemcpyDtoDAsync_v2", 3020, [&](Machine& machine) {
    machine.current();
    machine.copy(Direction::device_to_device, to, from, bytes, number(stream));
  });
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                   size_t bytes, CUstream stream) {
  return call("cuMemcpyPeerAsync", 4000, [&](Machine& machine) {
    machine.current();
    machine.copy_peer(to, machine.context(number(to_context))->device, from,
                      machine.context(number(from_context))->device, bytes, number(stream));
  });
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  return call("cuMemsetD8Async", 3020, [&](Machine& machine) {
    machine.current();
    machine.fill({to, value, 1, bytes}, number(stream));
  });
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return call("cuMemsetD32Async", 3020, [&](Machine& machine) {
    machine.current();
    machine.fill({to, value, 4, count}, number(stream));
  });
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                               CUmemAllocationGranularity_flags) {
  return call("cuMemGetAllocationGranularity", 10020, [&](Machine& machine) {
    device_of(machine, properties);
    require(granularity, "granularity") = Memory::kGranularity;
  });
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr /*hint*/,
                                     unsigned long long flags) {
  return call("cuMemAddressReserve", 10020, [&](Machine& machine) {
    need_zero(flags, "flags");
    require(address, "ptr") = machine.memory.reserve(bytes, alignment, current_call());
  });
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return call("cuMemAddressFree", 10020,
              [&](Machine& machine) { machine.memory.unreserve(address, bytes, current_call()); });
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* result, size_t bytes, const CUmemAllocationProp* properties,
                             unsigned long long flags) {
  return call("cuMemCreate", 10020, [&](Machine& machine) {
    need_zero(flags, "flags");
    const int device = device_of(machine, properties);
    require(result, "handle");
    machine.unsafe();
    *result = machine.memory.create(bytes, device);
  });
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle physical) {
  return call("cuMemRelease", 10020, [&](Machine& machine) {
    machine.unsafe();
    machine.memory.release(physical);
  });
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle physical,
                          unsigned long long flags) {
  return call("cuMemMap", 10020, [&](Machine& machine) {
    need_zero(flags, "flags");
    machine.unsafe();
    machine.memory.map(address, bytes, offset, physical, current_call());
  });
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return call("cuMemUnmap", 10020, [&](Machine& machine) {
    machine.unsafe();
    machine.memory.unmap(address, bytes, current_call());
  });
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  return call("cuMemSetAccess", 10020, [&](Machine& machine) {
    if (count != 1 || require(access, "desc").location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
      refuse(Status::not_supported, "only the access of one device is emulated");
    }
    machine.check_device(access->location.id);
    machine.unsafe();
    const bool write = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    machine.memory.set_access(address, bytes, access->location.id,
                              write || access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ, write, current_call());
  });
}
