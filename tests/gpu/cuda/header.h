// cuda.h as a driver sees it: all versions of each function, under their own names. Each function is defined behind
// this header, so the compiler checks its signature, and -Wmissing-declarations its name.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT  // its functions are exported
#include <cuda.h>

#undef __CUDA_API_VERSION_INTERNAL
