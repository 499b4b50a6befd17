// The vendor's libraries, loaded on first use: a machine without them starts, and reports the missing libraries.
#pragma once

#include <memory>
#include <string>

#include "devices/gpu/api.h"

namespace tern::gpu {

/// Returns the driver's functions, or null with `reason` naming the missing library and installation hint.
const Api* api(std::string* reason);

/// Returns the driver's functions; requires an existing device.
const Api& api();

/// Driver's message for an error; vendor code.
std::string error_text(Status error);

/// Returns the address of an optional driver function, or null.
void* driver_symbol(const char* name);

// Loads one function of a table X(name, symbol, parameters) of newer drivers into `a`; `a.complete` stays true while
// all are found.
#define TERN_GPU_LOAD_NEWER(name, symbol, parameters)                  \
  a.name = reinterpret_cast<decltype(a.name)>(driver_symbol(#symbol)); \
  a.complete = a.complete && a.name != nullptr;

/// The kernel compiler.
struct Compiler {
  CompilerApi functions;
  int major = 0, minor = 0;
  std::string path;
  void* library = nullptr;  ///< handle of platform/library.h
};

/// Returns null if the compiler is missing; `reason` lists the searched files.
const Compiler* compiler(std::string* reason);

/// Returns "NVRTC 13.0", for messages and cache keys.
std::string version_of(const Compiler& compiler);

}  // namespace tern::gpu
