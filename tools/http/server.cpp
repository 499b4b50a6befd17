#include "tools/http/server.h"

#include <tern/error.h>

#include "platform/file.h"
#include "platform/library.h"
#include "runtime/own_folders.h"
#include "tools/http/module.h"

namespace tern::http {
namespace {

/// The module's path in a build folder or an installed Tern; empty if absent.
std::string module_path(const std::string& file, std::string& folders) {
  for (const std::string& folder : own_folders("")) {
    const std::string path = folder + file;
    if (platform::can_read(path)) return path;
    folders += (folders.empty() ? "" : ", ") + folder;
  }
  return {};
}

}  // namespace

void serve(const ServerOptions& options, const std::string& command, const std::string& advice) {
  const std::string file = platform::module_file_name(kServerModule);
  std::string folders;
  const std::string path = module_path(file, folders);
  if (path.empty()) {
    fail(ErrorCode::unsupported, "the server of '" + command + "', " + file + ", was not found in the folders " +
                                     folders + ": build Tern with cpp-httplib (libcpp-httplib-dev), and install it" +
                                     advice);
  }
  std::string problem;
  void* const module = platform::open_library(path, &problem);  // stays loaded
  const auto function = module == nullptr ? nullptr : platform::find_function<ServeFunction>(module, kServeFunction);
  if (function == nullptr) {
    fail(ErrorCode::unsupported, "the server of '" + command +
                                     "' cannot be loaded: " + (problem.empty() ? "no reason given" : problem) + advice);
  }
  function(options, &problem);
  if (!problem.empty()) fail(ErrorCode::io, problem);
}

}  // namespace tern::http
