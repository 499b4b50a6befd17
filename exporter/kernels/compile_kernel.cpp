// Program tern_kernel_compiler: a device plugin's compiler in a process of its own. Two vendors' compilers cannot share
// a process, and a crash stays contained.
//   tern_kernel_compiler PLUGIN TARGET                      prints the compiler's name and version
//   tern_kernel_compiler PLUGIN TARGET NAME SOURCE MODULE   compiles the file SOURCE
#include <tern/device.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "platform/console.h"
#include "platform/library.h"
#include "platform/path.h"
#include "platform/process.h"

namespace platform = tern::platform;

namespace {

int failed(const char* reason) {
  std::fputs(reason == nullptr ? "it does not say why" : reason, stderr);
  return 1;
}

int compile(const tern_device_plugin& plugin, const tern_device_kernel_compiler_functions& compiler,
            const std::vector<std::string>& words) {
  std::ifstream source_file(platform::path_of(words[4]), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(source_file), {}};
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = compiler.dialect;
  source.name = words[3].c_str();
  source.text = text.c_str();
  source.length = text.size();
  std::string module;
  const auto append_module = [](void* context, const void* bytes, std::uint64_t length) {
    static_cast<std::string*>(context)->assign(static_cast<const char*>(bytes), length);
  };
  if (compiler.compile(words[2].c_str(), &source, append_module, &module) != TERN_DEVICE_OK)
    return failed(plugin.last_message());
  if (!(std::ofstream(platform::path_of(words[5]), std::ios::binary) << module).flush())
    return failed("the module cannot be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 6) return failed("usage: tern_kernel_compiler PLUGIN TARGET [NAME SOURCE MODULE]\n");
  platform::prepare_streams();
  platform::end_with_parent();
  const std::vector<std::string> words = platform::command_arguments(argc, argv);
  std::string problem;
  void* library = platform::open_library(words[1], &problem);
  if (library == nullptr) return failed(problem.c_str());
  using Entry = const tern_device_plugin* (*)();
  const auto entry = platform::find_function<Entry>(library, "tern_device_library");
  const tern_device_plugin* plugin = entry == nullptr ? nullptr : entry();
  if (plugin == nullptr || plugin->abi != TERN_DEVICE_ABI) return failed("it is not a plugin for this version of Tern");
  const auto* compiler = static_cast<const tern_device_kernel_compiler_functions*>(
      plugin->get_extension("kernel_compiler", TERN_DEVICE_EXTENSION_VERSION));
  if (compiler == nullptr) return failed("it has no compiler");
  int status = 0;
  if (argc == 6) {
    status = compile(*plugin, *compiler, words);
  } else if (const char* name = compiler->compiler(words[2].c_str()); name != nullptr) {
    std::puts(name);
  } else {
    status = failed(plugin->last_message());
  }
  std::fflush(stdout);
  std::_Exit(status);  // the ends of compilers crash, too
}
