#include "devices/gpu/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace tern::gpu {
namespace {

void* open_first(const std::vector<const char*>& paths, std::string* path) {
  for (const char* p : paths) {
    if (void* library = dlopen(p, RTLD_NOW | RTLD_LOCAL)) {
      *path = p;
      return library;
    }
  }
  return nullptr;
}

/// Formats a list for messages.
std::string list(const std::vector<const char*>& names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

void* driver_library = nullptr;  // handle of dlopen; error messages work even during the driver's start

struct Driver {
  Api functions;
  std::string why;  ///< reason for its absence; empty if found
};

Driver load_driver() {
  Driver d;
  std::string path;
  const std::vector<const char*> places(std::begin(names::kDriverLibraries), std::end(names::kDriverLibraries));
  driver_library = open_first(places, &path);
  if (driver_library == nullptr) {
    d.why = std::string(names::kDriver) + " is missing (" + list(places) + "): " + names::kDriverHint;
    return d;
  }
  std::vector<const char*> missing;
#define TERN_GPU_LOAD(name, cuda, hip, parameters) \
  d.functions.name = reinterpret_cast<decltype(d.functions.name)>(dlsym(driver_library, TERN_GPU_SYMBOL(cuda, hip)));
  TERN_GPU_FUNCTIONS(TERN_GPU_LOAD)
  TERN_GPU_OPTIONAL_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
#define TERN_GPU_NEEDED(name, cuda, hip, parameters) \
  if (d.functions.name == nullptr) missing.push_back(TERN_GPU_SYMBOL(cuda, hip));
  TERN_GPU_FUNCTIONS(TERN_GPU_NEEDED)
#undef TERN_GPU_NEEDED
  if (!missing.empty()) {
    d.why = path + " is too old: it lacks " + list(missing) + "; update " + names::kDriver;
  } else if (const Status error = d.functions.init(0); error != kSuccess) {
    d.why = std::string(names::kDriver) + " did not start: " + error_text(error);
  }
  return d;
}

const Driver& driver() {
  static const Driver d = load_driver();
  return d;
}

}  // namespace

const Api* api(std::string* why) {
  const Driver& d = driver();
  if (!d.why.empty()) *why = d.why;
  return d.why.empty() ? &d.functions : nullptr;
}

const Api& api() {
  return driver().functions;
}

void* driver_symbol(const char* name) {
  return driver_library == nullptr ? nullptr : dlsym(driver_library, name);
}

const Compiler* compiler(std::string* why) {
  struct Found {
    Compiler compiler;
    std::string why;
  };
  static const Found found = [] {
    Found f;
    std::vector<const char*> places;
    if (const char* own = ::secure_getenv(names::kCompilerVariable); own != nullptr && *own != 0) {
      places.push_back(own);
    } else {
      places.assign(std::begin(names::kCompilerLibraries), std::end(names::kCompilerLibraries));
    }
    f.compiler.library = open_first(places, &f.compiler.path);
    if (f.compiler.library == nullptr) {
      f.why = std::string(names::kCompiler) + " is missing: no library " + list(places) +
              "; install it, or set its path in " + names::kCompilerVariable;
      return f;
    }
    CompilerApi& c = f.compiler.functions;
    bool all = true;
#define TERN_GPU_LOAD(name, cuda, hip, parameters)                                                             \
  c.name = reinterpret_cast<decltype(c.name)>(dlsym(f.compiler.library, TERN_GPU_COMPILER_SYMBOL(cuda, hip))); \
  all = all && c.name != nullptr;
    TERN_GPU_COMPILER_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
    if (!all || c.version(&f.compiler.major, &f.compiler.minor) != kSuccess)
      f.why = f.compiler.path + " lacks functions of " + names::kCompiler + "; set another one in " +
              names::kCompilerVariable;
    return f;
  }();
  if (!found.why.empty()) *why = found.why;
  return found.why.empty() ? &found.compiler : nullptr;
}

std::string version_of(const Compiler& compiler) {
  return std::string(names::kCompiler) + " " + std::to_string(compiler.major) + "." + std::to_string(compiler.minor);
}

}  // namespace tern::gpu
