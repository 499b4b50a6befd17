// Addresses of functions by name and version. Functions newer than the driver are absent.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/gpu/cuda/call.h"

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

// The name without its version, the first CUDA version with the function (cudaTypedefs.h), and the function.
struct Entry {
  const char* name;
  int since;
  void* function;
};
#define TERN_ENTRY(name, since, function) \
  { #name, since, reinterpret_cast < void*>(&function) }
const Entry kEntries[] = {
    TERN_ENTRY(cuInit, 2000, cuInit),
    TERN_ENTRY(cuDriverGetVersion, 2020, cuDriverGetVersion),
    TERN_ENTRY(cuGetErrorString, 6000, cuGetErrorString),
    TERN_ENTRY(cuGetErrorName, 6000, cuGetErrorName),
    TERN_ENTRY(cuGetProcAddress, 12000, cuGetProcAddress_v2),
    TERN_ENTRY(cuDeviceGetCount, 2000, cuDeviceGetCount),
    TERN_ENTRY(cuDeviceGet, 2000, cuDeviceGet),
    TERN_ENTRY(cuDeviceGetName, 2000, cuDeviceGetName),
    TERN_ENTRY(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2),
    TERN_ENTRY(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute),
    TERN_ENTRY(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2),
    TERN_ENTRY(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain),
    TERN_ENTRY(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2),
    TERN_ENTRY(cuCtxSetCurrent, 4000, cuCtxSetCurrent),
    TERN_ENTRY(cuCtxGetCurrent, 4000, cuCtxGetCurrent),
    TERN_ENTRY(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2),
    TERN_ENTRY(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer),
    TERN_ENTRY(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess),
    TERN_ENTRY(cuMemcpyPeerAsync, 4000, cuMemcpyPeerAsync),
    TERN_ENTRY(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2),
    TERN_ENTRY(cuMemAlloc, 3020, cuMemAlloc_v2),
    TERN_ENTRY(cuMemFree, 3020, cuMemFree_v2),
    TERN_ENTRY(cuMemGetInfo, 3020, cuMemGetInfo_v2),
    TERN_ENTRY(cuMemHostAlloc, 2020, cuMemHostAlloc),
    TERN_ENTRY(cuMemFreeHost, 2000, cuMemFreeHost),
    TERN_ENTRY(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2),
    TERN_ENTRY(cuMemcpyDtoHAsync, 3020, cuMemcpyDtoHAsync_v2),
    TERN_ENTRY(cuMemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2),
    TERN_ENTRY(cuMemsetD8Async, 3020, cuMemsetD8Async),
    TERN_ENTRY(cuMemsetD32Async, 3020, cuMemsetD32Async),
    TERN_ENTRY(cuMemGetAllocationGranularity, 10020, cuMemGetAllocationGranularity),
    TERN_ENTRY(cuMemAddressReserve, 10020, cuMemAddressReserve),
    TERN_ENTRY(cuMemAddressFree, 10020, cuMemAddressFree),
    TERN_ENTRY(cuMemCreate, 10020, cuMemCreate),
    TERN_ENTRY(cuMemRelease, 10020, cuMemRelease),
    TERN_ENTRY(cuMemMap, 10020, cuMemMap),
    TERN_ENTRY(cuMemUnmap, 10020, cuMemUnmap),
    TERN_ENTRY(cuMemSetAccess, 10020, cuMemSetAccess),
    TERN_ENTRY(cuStreamCreate, 2000, cuStreamCreate),
    TERN_ENTRY(cuStreamDestroy, 4000, cuStreamDestroy_v2),
    TERN_ENTRY(cuStreamSynchronize, 2000, cuStreamSynchronize),
    TERN_ENTRY(cuStreamQuery, 2000, cuStreamQuery),
    TERN_ENTRY(cuStreamWaitEvent, 3020, cuStreamWaitEvent),
    TERN_ENTRY(cuStreamGetCtx, 9020, cuStreamGetCtx),
    TERN_ENTRY(cuEventCreate, 2000, cuEventCreate),
    TERN_ENTRY(cuEventDestroy, 4000, cuEventDestroy_v2),
    TERN_ENTRY(cuEventRecord, 2000, cuEventRecord),
    TERN_ENTRY(cuEventSynchronize, 2000, cuEventSynchronize),
    TERN_ENTRY(cuEventQuery, 2000, cuEventQuery),
    TERN_ENTRY(cuEventElapsedTime, 2000, cuEventElapsedTime),
    TERN_ENTRY(cuEventElapsedTime, 12080, cuEventElapsedTime_v2),
    TERN_ENTRY(cuModuleLoadData, 2000, cuModuleLoadData),
    TERN_ENTRY(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx),
    TERN_ENTRY(cuModuleUnload, 2000, cuModuleUnload),
    TERN_ENTRY(cuModuleGetFunction, 2000, cuModuleGetFunction),
    TERN_ENTRY(cuFuncGetAttribute, 2020, cuFuncGetAttribute),
    TERN_ENTRY(cuFuncSetAttribute, 9000, cuFuncSetAttribute),
    TERN_ENTRY(cuLaunchKernel, 4000, cuLaunchKernel),
    TERN_ENTRY(cuLaunchKernelEx, 11060, cuLaunchKernelEx),
    TERN_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, cuOccupancyMaxActiveBlocksPerMultiprocessor),
    TERN_ENTRY(cuOccupancyMaxPotentialBlockSize, 6050, cuOccupancyMaxPotentialBlockSize),
    TERN_ENTRY(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2),
    TERN_ENTRY(cuStreamBeginCaptureToGraph, 12030, cuStreamBeginCaptureToGraph),
    TERN_ENTRY(cuStreamEndCapture, 10000, cuStreamEndCapture),
    TERN_ENTRY(cuStreamIsCapturing, 10000, cuStreamIsCapturing),
    TERN_ENTRY(cuStreamGetCaptureInfo, 11030, cuStreamGetCaptureInfo_v2),
    TERN_ENTRY(cuStreamGetCaptureInfo, 12030, cuStreamGetCaptureInfo_v3),
    TERN_ENTRY(cuStreamUpdateCaptureDependencies, 12030, cuStreamUpdateCaptureDependencies_v2),
    TERN_ENTRY(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode),
    TERN_ENTRY(cuGraphCreate, 10000, cuGraphCreate),
    TERN_ENTRY(cuGraphDestroy, 10000, cuGraphDestroy),
    TERN_ENTRY(cuGraphInstantiate, 12000, cuGraphInstantiateWithFlags),
    TERN_ENTRY(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags),
    TERN_ENTRY(cuGraphLaunch, 10000, cuGraphLaunch),
    TERN_ENTRY(cuGraphExecDestroy, 10000, cuGraphExecDestroy),
    TERN_ENTRY(cuGraphExecUpdate, 12000, cuGraphExecUpdate_v2),
    TERN_ENTRY(cuGraphAddNode, 12030, cuGraphAddNode_v2),
    TERN_ENTRY(cuGraphAddKernelNode, 12000, cuGraphAddKernelNode_v2),
    TERN_ENTRY(cuGraphAddMemcpyNode, 10000, cuGraphAddMemcpyNode),
    TERN_ENTRY(cuGraphAddMemsetNode, 10000, cuGraphAddMemsetNode),
    TERN_ENTRY(cuGraphAddEmptyNode, 10000, cuGraphAddEmptyNode),
    TERN_ENTRY(cuGraphAddChildGraphNode, 10000, cuGraphAddChildGraphNode),
    TERN_ENTRY(cuGraphAddEventRecordNode, 11010, cuGraphAddEventRecordNode),
    TERN_ENTRY(cuGraphConditionalHandleCreate, 12030, cuGraphConditionalHandleCreate),
    TERN_ENTRY(cuGraphGetNodes, 10000, cuGraphGetNodes),
    TERN_ENTRY(cuGraphNodeGetType, 10000, cuGraphNodeGetType),
    TERN_ENTRY(cuGraphKernelNodeSetAttribute, 11000, cuGraphKernelNodeSetAttribute),
    TERN_ENTRY(cuDeviceGetDevResource, 12040, cuDeviceGetDevResource),
    TERN_ENTRY(cuGreenCtxGetDevResource, 12040, cuGreenCtxGetDevResource),
    TERN_ENTRY(cuDevSmResourceSplitByCount, 12040, cuDevSmResourceSplitByCount),
    TERN_ENTRY(cuDevResourceGenerateDesc, 12040, cuDevResourceGenerateDesc),
    TERN_ENTRY(cuGreenCtxCreate, 12040, cuGreenCtxCreate),
    TERN_ENTRY(cuGreenCtxDestroy, 12040, cuGreenCtxDestroy),
    TERN_ENTRY(cuCtxFromGreenCtx, 12040, cuCtxFromGreenCtx),
    TERN_ENTRY(cuGreenCtxStreamCreate, 12050, cuGreenCtxStreamCreate),
};
#undef TERN_ENTRY

}  // namespace

// "If the specified CUDA version is greater than the driver version, the API will return CUDA_ERROR_INVALID_VALUE."
// "The API will return CUDA_SUCCESS and set the returned pfn to NULL if the requested driver function is not supported
// on the platform, no ABI compatible driver function exists for the specified cudaVersion or if the driver symbol is
// invalid." Works before cuInit.
CUresult CUDAAPI cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* status) {
  return call("cuGetProcAddress_v2", 12000, [&](Machine&) {
    require(symbol, "symbol");
    require(function, "pfn") = nullptr;
    if (version > driver_version()) {
      refuse(Status::invalid_value, "cudaVersion is %d; the driver has %d", version, driver_version());
    }
    if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) {
      refuse(Status::not_supported, "streams of threads are not emulated");
    }
    int newest = 0;
    bool known = false;
    for (const Entry& entry : kEntries) {
      if (std::strcmp(entry.name, symbol) != 0) continue;
      known = known || entry.since <= driver_version();
      if (entry.since > version || entry.since < newest) continue;
      newest = entry.since;
      *function = entry.function;
    }
    if (status != nullptr) {
      *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                : known              ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                     : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
  });
}
// Undocumented. NVRTC looks for libcuda.so.1 during compilation, requests an export table, and reads the table's size,
// the first entry. This table is empty.
CUresult CUDAAPI cuGetExportTable(const void** table, const CUuuid*) {
  static const size_t empty[] = {sizeof(size_t), 0};
  *table = static_cast<const void*>(empty);
  return CUDA_SUCCESS;
}
