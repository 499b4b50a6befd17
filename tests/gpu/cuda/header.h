// cuda.h from the driver's view: all versions of each function, under their own names. Files define functions after
// including this header, so the compiler checks signatures, and -Wmissing-declarations names.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT  // exports its functions
#include <cuda.h>

#undef __CUDA_API_VERSION_INTERNAL
