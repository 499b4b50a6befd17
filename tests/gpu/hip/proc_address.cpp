// hipGetProcAddress, of HIP 6 and later.
#include <dlfcn.h>

#include <cstring>

#include "tests/gpu/hip/call.h"
#include "tests/gpu/hip/settings.h"

using namespace tern::gpu::hip;

// "Gets the pointer of requested HIP driver function. HIP version is defined as 100*version_major + version_minor.
// flags: Currently only default flag is suppported. symbolStatus: Optional enumeration for returned status": 0 found, 1
// not found, 2 the version is not sufficient. hipGetDeviceProperties of version 600 and later is
// hipGetDevicePropertiesR0600.
extern "C" __attribute__((visibility("default"))) hipError_t hipGetProcAddress(const char* symbol, void** function,
                                                                               int hipVersion, std::uint64_t flags,
                                                                               int* status) {
  return call(__func__, [&](Machine&) {
    required(symbol, "symbol");
    *required(function, "pfn") = nullptr;
    no_flags(flags);
    Dl_info self{};
    dladdr(reinterpret_cast<const void*>(&hipInit), &self);
    void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    const bool renamed = hipVersion >= 600 && std::strcmp(symbol, "hipGetDeviceProperties") == 0;
    if (std::strncmp(symbol, "hip", 3) == 0)
      *function = dlsym(library, renamed ? "hipGetDevicePropertiesR0600" : symbol);
    dlclose(library);
    if (status != nullptr) *status = *function == nullptr ? 1 : 0;
    if (*function == nullptr) refuse(Status::invalid_value, "no function %s", symbol);
  });
}
