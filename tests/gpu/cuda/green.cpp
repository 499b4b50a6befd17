// Green contexts: parts of a device.
#include <algorithm>
#include <cstring>
#include <set>

#include "tests/gpu/cuda/call.h"
#include "tests/gpu/machine/properties.h"
#include "tests/gpu/machine/settings.h"

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

// "On Compute Architecture 9.0+: [...] The alignment is 8"; otherwise 2.
unsigned alignment() {
  return settings().major >= 9 ? 8 : 2;
}

// Hidden contents of CUdevResource: a mark of this driver, the device, the split.
struct Origin {
  uint64_t marker;
  int device;
  unsigned split;  // 0: of the whole device, or of a green context
};
constexpr uint64_t kOriginMarker = 0x7e726e5265736f75;

Origin origin_of(const CUdevResource& resource) {
  Origin origin{};
  std::memcpy(&origin, resource._internal_padding, sizeof(origin));
  return origin;
}

void make_multiprocessors(CUdevResource& resource, int device, unsigned count, unsigned split) {
  resource = {};
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  const Origin origin{kOriginMarker, device, split};
  std::memcpy(resource._internal_padding, &origin, sizeof(origin));
  resource.sm.smCount = count;
#if CUDA_VERSION >= 13010
  resource.sm.minSmPartitionSize = alignment();
  resource.sm.smCoscheduledAlignment = alignment();
#endif
}

unsigned check_multiprocessors(const CUdevResource& resource) {
  if (resource.type != CU_DEV_RESOURCE_TYPE_SM) {
    refuse(Status::invalid_resource_type, "a resource of type %d, not of multiprocessors",
           static_cast<int>(resource.type));
  }
  if (origin_of(resource).marker != kOriginMarker)
    refuse(Status::invalid_value, "the resource was not made by this driver");
  return resource.sm.smCount;
}

void resource_of(CUdevResource& resource, int device, const Descriptor& of, CUdevResourceType type) {
  if (type == CU_DEV_RESOURCE_TYPE_SM) {
    make_multiprocessors(resource, device, of.multiprocessors, 0);
    return;
  }
#if CUDA_VERSION >= 13010
  // Work queues exist since CUDA 13.1.
  if (type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG && driver_version() >= 13010) {
    resource = {};
    resource.type = type;
    const Origin origin{kOriginMarker, device, 0};
    std::memcpy(resource._internal_padding, &origin, sizeof(origin));
    resource.wqConfig.device = device;
    resource.wqConfig.wqConcurrencyLimit = of.queues == 0 ? 8 : of.queues;  // default of CUDA_DEVICE_MAX_CONNECTIONS
    resource.wqConfig.sharingScope =
        of.queues == 0 ? CU_WORKQUEUE_SCOPE_DEVICE_CTX : CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED;
    return;
  }
#endif
  refuse(Status::invalid_resource_type, "resource type %d", static_cast<int>(type));
}

unsigned last_split = 0;

}  // namespace

CUresult CUDAAPI cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  return call("cuDeviceGetDevResource", 12040, [&](Machine& machine) {
    machine.check_device(device);
    resource_of(require(resource, "resource"), device, {properties().multiprocessors, 0}, type);
  });
}

CUresult CUDAAPI cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource* resource, CUdevResourceType type) {
  return call("cuGreenCtxGetDevResource", 12040, [&](Machine& machine) {
    const auto part = machine.partition(number(green));
    resource_of(require(resource, "resource"), part->device, part->resources, type);
  });
}

// "guarantee a split that will create a disjoint set of symmetrical partitions": all groups have minCount, rounded up
// to the alignment. "A limitation of the API is that the output results cannot be split again without first creating a
// descriptor and a green context with that descriptor."
CUresult CUDAAPI cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* groups, const CUdevResource* input,
                                             CUdevResource* remainder, unsigned int flags, unsigned int least) {
  return call("cuDevSmResourceSplitByCount", 12040, [&](Machine&) {
    require(groups, "nbGroups");
    const unsigned all = check_multiprocessors(require(input, "input"));
    const Origin origin = origin_of(*input);
    if (origin.split != 0) refuse(Status::invalid_value, "the input is itself the result of a split");
    const unsigned known =
        CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    if ((flags & ~known) != 0) refuse(Status::invalid_value, "flags is 0x%x", flags);
    if (least > all) refuse(Status::invalid_value, "minCount is %u of %u multiprocessors", least, all);
    const unsigned step = (flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0 ? 2 : alignment();
    const unsigned size = std::max(step, (least + step - 1) / step * step);
    const unsigned possible = all / size;
    if (result == nullptr) {
      *groups = possible;
      return;
    }
    if (*groups == 0 || possible == 0) {
      refuse(Status::invalid_resource_configuration, "%u groups of %u of %u multiprocessors", *groups, size, all);
    }
    *groups = std::min(*groups, possible);
    ++last_split;
    for (unsigned i = 0; i < *groups; ++i) make_multiprocessors(result[i], origin.device, size, last_split);
    if (remainder != nullptr) {
      const unsigned rest = all - *groups * size;
      make_multiprocessors(*remainder, origin.device, rest, last_split);
      if (rest == 0) remainder->type = CU_DEV_RESOURCE_TYPE_INVALID;
    }
  });
}

// "If multiple resources are provided in resources, the device they came from must be the same"; multiprocessors "must
// be outputs (whether result or remaining) from the same split API instance", "otherwise
// CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION is returned. [...] The output descriptor phDesc will remain valid for the
// lifetime of the process."
CUresult CUDAAPI cuDevResourceGenerateDesc(CUdevResourceDesc* result, CUdevResource* resources, unsigned int count) {
  return call("cuDevResourceGenerateDesc", 12040, [&](Machine& machine) {
    require(result, "phDesc");
    require(resources, "resources");
    if (count == 0) refuse(Status::invalid_value, "nbResources is 0");
    unsigned multiprocessors = 0;
    unsigned queues = 0;
    std::set<unsigned> splits;
    std::set<int> devices;
    for (unsigned i = 0; i < count; ++i) {
      if (origin_of(resources[i]).marker != kOriginMarker)
        refuse(Status::invalid_value, "resource %u was not made by this driver", i);
      devices.insert(origin_of(resources[i]).device);
#if CUDA_VERSION >= 13010
      if (resources[i].type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) {
        if (driver_version() < 13010) refuse(Status::invalid_resource_type, "work queues need a driver of CUDA 13.1");
        if (resources[i].wqConfig.wqConcurrencyLimit == 0 ||
            resources[i].wqConfig.sharingScope > CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED) {
          refuse(Status::invalid_resource_configuration, "resource %u is no possible configuration of work queues", i);
        }
        queues = resources[i].wqConfig.wqConcurrencyLimit;
        continue;
      }
#endif
      multiprocessors += check_multiprocessors(resources[i]);
      if (!splits.insert(origin_of(resources[i]).split).second && origin_of(resources[i]).split == 0) {
        refuse(Status::invalid_resource_configuration, "the device's multiprocessors are named twice");
      }
    }
    if (devices.size() > 1 || splits.size() > 1) {
      refuse(Status::invalid_resource_configuration, "resources of different %s",
             devices.size() > 1 ? "devices" : "splits");
    }
    // A green context without its own multiprocessors has all of them.
    if (multiprocessors == 0) multiprocessors = properties().multiprocessors;
    *result = handle<CUdevResourceDesc>(machine.add_descriptor({multiprocessors, queues}));
  });
}

// "The supported flags are: CU_GREEN_CTX_NONE [...] CU_GREEN_CTX_DEFAULT_STREAM"; before CUDA 13 only the latter was
// accepted ("CU_GREEN_CTX_DEFAULT_STREAM : Creates a default stream to use inside the green context. Required.").
CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx* green, CUdevResourceDesc descriptor, CUdevice device,
                                  unsigned int flags) {
  return call("cuGreenCtxCreate", 12040, [&](Machine& machine) {
    machine.check_device(device);
    require(green, "phCtx");
    if (flags > CU_GREEN_CTX_DEFAULT_STREAM) refuse(Status::invalid_value, "flags is 0x%x", flags);
    if (flags == 0 && driver_version() < 13000) {
      refuse(Status::invalid_value, "CU_GREEN_CTX_DEFAULT_STREAM is required before CUDA 13");
    }
    *green = handle<CUgreenCtx>(machine.create_partition(device, machine.descriptor(number(descriptor))));
  });
}

CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx green) {
  return call("cuGreenCtxDestroy", 12040, [&](Machine& machine) { machine.destroy_partition(number(green)); });
}

CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext* context, CUgreenCtx green) {
  return call("cuCtxFromGreenCtx", 12040, [&](Machine& machine) {
    require(context, "pContext") = handle<CUcontext>(machine.partition(number(green))->handle);
  });
}

// "If during stream creation the context that was active in the calling thread was obtained with cuCtxFromGreenCtx,
// that green context is returned in phCtx. Otherwise, *phCtx is set to NULL instead."
CUresult CUDAAPI cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* green) {
  return call("cuStreamGetGreenCtx", 12040, [&](Machine& machine) {
    require(green, "phCtx") = handle<CUgreenCtx>(machine.stream(number(stream))->context->green_handle);
  });
}

// "CU_STREAM_NON_BLOCKING: This must be specified."
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx green, unsigned int flags, int /*priority*/) {
  return call("cuGreenCtxStreamCreate", 12050, [&](Machine& machine) {
    require(stream, "phStream");
    if (flags != CU_STREAM_NON_BLOCKING) refuse(Status::invalid_value, "flags must be CU_STREAM_NON_BLOCKING");
    *stream = handle<CUstream>(machine.create_stream(machine.partition(number(green)), flags));
  });
}
