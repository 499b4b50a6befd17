// Driver functions that cuDNN needs for making plans. Libraries of kernels load but have no code: their kernels never
// run.
#include "tests/gpu/cuda/header.h"

namespace {

template <class T>
CUresult create_handle(T* handle) {
  static char place;
  *handle = reinterpret_cast<T>(&place);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*,
                                   void**, unsigned) {
  return create_handle(library);
}
CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char*) {
  return create_handle(kernel);
}
CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel) {
  return create_handle(function);
}
CUresult CUDAAPI cuLibraryUnload(CUlibrary) {
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) {
  return CUDA_SUCCESS;
}

#define TERN_ABSENT(name, ...)         \
  CUresult CUDAAPI name(__VA_ARGS__) { \
    return CUDA_ERROR_NOT_SUPPORTED;   \
  }
TERN_ABSENT(cuCtxGetLimit, size_t*, CUlimit)
TERN_ABSENT(cuCtxPopCurrent, CUcontext*)
TERN_ABSENT(cuCtxPushCurrent, CUcontext)
TERN_ABSENT(cuKernelGetAttribute, int*, CUfunction_attribute, CUkernel, CUdevice)
TERN_ABSENT(cuLaunchCooperativeKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
            CUstream, void**)
TERN_ABSENT(cuLibraryLoadFromFile, CUlibrary*, const char*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
            unsigned)
TERN_ABSENT(cuLinkAddData, CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**)
TERN_ABSENT(cuLinkComplete, CUlinkState, void**, size_t*)
TERN_ABSENT(cuLinkCreate, unsigned, CUjit_option*, void**, CUlinkState*)
TERN_ABSENT(cuLinkDestroy, CUlinkState)
TERN_ABSENT(cuOccupancyMaxPotentialClusterSize, int*, CUfunction, const CUlaunchConfig*)
TERN_ABSENT(cuTensorMapEncodeIm2col, CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
            const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*, CUtensorMapInterleave,
            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
TERN_ABSENT(cuTensorMapEncodeTiled, CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
            CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
