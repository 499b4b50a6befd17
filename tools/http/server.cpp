#include "tools/http/server.h"

#include <dlfcn.h>
#include <tern/error.h>
#include <unistd.h>

#include "runtime/own_folders.h"
#include "tools/http/module.h"

namespace tern::http {
namespace {

/// The module's path in a build folder or an installed Tern; empty if absent.
std::string module_path(std::string& folders) {
  for (const std::string& folder : own_folders("")) {
    const std::string path = folder + kServerModule;
    if (::access(path.c_str(), R_OK) == 0) return path;
    folders += (folders.empty() ? "" : ", ") + folder;
  }
  return {};
}

}  // namespace

void serve(const ServerOptions& options, const std::string& command, const std::string& advice) {
  std::string folders;
  const std::string path = module_path(folders);
  if (path.empty()) {
    fail(ErrorCode::unsupported, "the server of '" + command + "', " + kServerModule +
                                     ", was not found in the folders " + folders +
                                     ": build Tern with cpp-httplib (libcpp-httplib-dev), and install it" + advice);
  }
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded
  void* const function = module == nullptr ? nullptr : ::dlsym(module, kServeFunction);
  if (function == nullptr) {
    const char* const why = ::dlerror();
    fail(ErrorCode::unsupported,
         "the server of '" + command + "' cannot be loaded: " + (why != nullptr ? why : "no reason given") + advice);
  }
  std::string problem;
  reinterpret_cast<ServeFunction>(function)(options, &problem);
  if (!problem.empty()) fail(ErrorCode::io, problem);
}

}  // namespace tern::http
