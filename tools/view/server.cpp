#include "tools/view/server.h"

#include <dlfcn.h>
#include <tern/error.h>
#include <unistd.h>

#include "runtime/own_folders.h"
#include "tools/train/interrupt.h"
#include "tools/view/page.h"
#include "tools/view/server/module.h"

namespace tern::view {
namespace {

[[noreturn]] void fail_without(const std::string& why) {
  fail(ErrorCode::unsupported, why + "; --html FILE writes the same page to a file");
}

/// The module's path in a build folder or an installed Tern.
std::string module_path() {
  std::string folders;
  for (const std::string& folder : own_folders("")) {
    const std::string path = folder + kServerModule;
    if (::access(path.c_str(), R_OK) == 0) return path;
    folders += (folders.empty() ? "" : ", ") + folder;
  }
  fail_without(std::string("the server of 'tern view', ") + kServerModule + ", was not found in the folders " +
               folders + ": build Tern with cpp-httplib (libcpp-httplib-dev), and install it");
}

/// Loads the module; never unloads it.
ServeFunction load() {
  void* const module = ::dlopen(module_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = module == nullptr ? nullptr : ::dlsym(module, kServeFunction);
  if (function != nullptr) return reinterpret_cast<ServeFunction>(function);
  const char* const why = ::dlerror();
  fail_without(std::string("the server of 'tern view' cannot be loaded: ") +
               (why != nullptr ? why : "no reason given"));
}

}  // namespace

void serve(const Site& site, int port, const std::function<void(const std::string& address)>& ready,
           const std::function<void()>& ended) {
  const ServeFunction run = load();
  const train::Interrupt interrupt;
  std::string wrong;
  run({site, random_token(), port, ready,
       [&] {
         if (interrupt.asked() == 0) return false;
         ended();
         return true;
       }},
      &wrong);
  if (!wrong.empty()) fail(ErrorCode::io, wrong);
}

}  // namespace tern::view
