// The libraries of the vendor, found when they are first needed: a machine without them starts, and says what is
// missing.
#pragma once

#include <memory>
#include <string>

#include "devices/gpu/api.h"

namespace tern::gpu {

/// The driver's functions, or null; `why` says what is missing and how to get it.
const Api* api(std::string* why);

/// The same, where a device was found before.
const Api& api();

/// The driver's text of an error; each vendor defines it.
std::string error_text(Status error);

/// The address of a function that only some drivers have, or null.
void* driver_symbol(const char* name);

// For a table X(name, symbol, parameters) of functions that only newer drivers have: loads one into `a`, whose
// `complete` says whether all are there.
#define TERN_GPU_LOAD_NEWER(name, symbol, parameters)                  \
  a.name = reinterpret_cast<decltype(a.name)>(driver_symbol(#symbol)); \
  a.complete = a.complete && a.name != nullptr;

/// The compiler of kernel texts.
struct Compiler {
  CompilerApi functions;
  int major = 0, minor = 0;
  std::string path;
  void* library = nullptr;  ///< of dlopen
};

/// Null where it is missing; `why` says where it was looked for.
const Compiler* compiler(std::string* why);

/// "NVRTC 13.0", for people and caches.
std::string version_of(const Compiler& compiler);

}  // namespace tern::gpu
