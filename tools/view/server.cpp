#include "tools/view/server.h"

#include <dlfcn.h>
#include <tern/error.h>

#include "tools/train/interrupt.h"
#include "tools/view/page.h"
#include "tools/view/server/module.h"

namespace tern::view {
namespace {

/// It stays loaded. The command's run path names its folder.
ServeFunction load() {
  void* const module = ::dlopen(kServerModule, RTLD_NOW | RTLD_LOCAL);
  void* const function = module == nullptr ? nullptr : ::dlsym(module, kServeFunction);
  if (function != nullptr) return reinterpret_cast<ServeFunction>(function);
  const char* const why = ::dlerror();
  fail(ErrorCode::unsupported,
       std::string("the server of 'tern view' cannot be loaded, which needs cpp-httplib (libcpp-httplib-dev when Tern "
                   "is built); --html FILE writes the same page to a file: ") +
           (why != nullptr ? why : ""));
}

}  // namespace

void serve(const Site& site, int port, const std::function<void(const std::string& address)>& ready,
           const std::function<void()>& ended) {
  const ServeFunction run = load();
  const train::Interrupt interrupt;
  const std::string wrong = run({site, random_token(), port, ready, [&] {
                                   if (interrupt.asked() == 0) return false;
                                   ended();
                                   return true;
                                 }});
  if (!wrong.empty()) fail(ErrorCode::io, wrong);
}

}  // namespace tern::view
