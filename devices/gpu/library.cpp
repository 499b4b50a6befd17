#include "devices/gpu/library.h"

#include <vector>

#include "platform/environment.h"
#include "platform/library.h"

namespace tern::gpu {
namespace {

/// Opens the first library that can be loaded, and stores its name in `path`; null if none can.
void* open_first(const std::vector<const char*>& paths, std::string* path) {
  for (const char* p : paths) {
    if (void* library = platform::open_library(p)) {
      *path = p;
      return library;
    }
  }
  return nullptr;
}

/// Formats a list for messages.
std::string join_names(const std::vector<const char*>& names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

// A global outside Driver: driver_symbol() works for error messages while load_driver() still runs.
void* driver_library = nullptr;

struct Driver {
  Api functions;
  std::string absence_reason;  ///< empty if found
};

Driver load_driver() {
  Driver loaded;
  std::string path;
  const std::vector<const char*> candidates(std::begin(names::kDriverLibraries), std::end(names::kDriverLibraries));
  driver_library = open_first(candidates, &path);
  if (driver_library == nullptr) {
    loaded.absence_reason =
        std::string(names::kDriver) + " is missing (" + join_names(candidates) + "): " + names::kDriverHint;
    return loaded;
  }
  std::vector<const char*> missing;
#define TERN_GPU_LOAD(name, cuda, hip, parameters)                           \
  loaded.functions.name = reinterpret_cast<decltype(loaded.functions.name)>( \
      platform::find_symbol(driver_library, TERN_GPU_SYMBOL(cuda, hip)));
  TERN_GPU_FUNCTIONS(TERN_GPU_LOAD)
  TERN_GPU_OPTIONAL_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
#define TERN_GPU_NEEDED(name, cuda, hip, parameters) \
  if (loaded.functions.name == nullptr) missing.push_back(TERN_GPU_SYMBOL(cuda, hip));
  TERN_GPU_FUNCTIONS(TERN_GPU_NEEDED)
#undef TERN_GPU_NEEDED
  if (!missing.empty()) {
    loaded.absence_reason = path + " is too old: it lacks " + join_names(missing) + "; update " + names::kDriver;
  } else if (const Status error = loaded.functions.init(0); error != kSuccess) {
    loaded.absence_reason = std::string(names::kDriver) + " did not start: " + error_text(error);
  }
  return loaded;
}

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

}  // namespace

const Api* api(std::string* reason) {
  const Driver& loaded = driver();
  if (!loaded.absence_reason.empty()) *reason = loaded.absence_reason;
  return loaded.absence_reason.empty() ? &loaded.functions : nullptr;
}

const Api& api() {
  return driver().functions;
}

void* driver_symbol(const char* name) {
  return driver_library == nullptr ? nullptr : platform::find_symbol(driver_library, name);
}

const Compiler* compiler(std::string* reason) {
  struct Found {
    Compiler compiler;
    std::string absence_reason;
  };
  static const Found found = [] {
    Found result;
    std::vector<const char*> candidates;
    const std::string configured = platform::trusted_variable(names::kCompilerVariable).value_or("");
    if (!configured.empty()) {
      candidates.push_back(configured.c_str());
    } else {
      candidates.assign(std::begin(names::kCompilerLibraries), std::end(names::kCompilerLibraries));
    }
    result.compiler.library = open_first(candidates, &result.compiler.path);
    if (result.compiler.library == nullptr) {
      result.absence_reason = std::string(names::kCompiler) + " is missing: no library " + join_names(candidates) +
                              "; install it, or set its path in " + names::kCompilerVariable;
      return result;
    }
    CompilerApi& c = result.compiler.functions;
    bool is_complete = true;
#define TERN_GPU_LOAD(name, cuda, hip, parameters)                                          \
  c.name = reinterpret_cast<decltype(c.name)>(                                              \
      platform::find_symbol(result.compiler.library, TERN_GPU_COMPILER_SYMBOL(cuda, hip))); \
  is_complete = is_complete && c.name != nullptr;
    TERN_GPU_COMPILER_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
    if (!is_complete || c.version(&result.compiler.major, &result.compiler.minor) != kSuccess)
      result.absence_reason = result.compiler.path + " lacks functions of " + names::kCompiler +
                              "; set another one in " + names::kCompilerVariable;
    return result;
  }();
  if (!found.absence_reason.empty()) *reason = found.absence_reason;
  return found.absence_reason.empty() ? &found.compiler : nullptr;
}

std::string version_of(const Compiler& compiler) {
  return std::string(names::kCompiler) + " " + std::to_string(compiler.major) + "." + std::to_string(compiler.minor);
}

}  // namespace tern::gpu
