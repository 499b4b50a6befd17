#include "exporter/kernels/plugin_targets.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "exporter/kernels/run_compiler.h"
#include "loader/kernel_modules.h"
#include "platform/environment.h"
#include "platform/file.h"
#include "platform/library.h"
#include "runtime/devices/plugin/library.h"
#include "runtime/devices/plugin/tables.h"
#include "runtime/own_folders.h"

namespace tern {
namespace {

/// Compilers of Tern's own plugins: the variable with the library's path, and the library's file name.
struct VendorCompiler {
  std::string_view plugin;
  const char *name, *variable, *library;
};
constexpr VendorCompiler kVendorCompilers[] = {{"cuda", "NVRTC", "TERN_NVRTC", "libnvrtc.so"},
                                               {"rocm", "hiprtc", "TERN_HIPRTC", "libhiprtc.so"}};

const VendorCompiler* vendor_compiler(std::string_view plugin) {
  const auto* found = std::ranges::find(kVendorCompilers, plugin, &VendorCompiler::plugin);
  return found == std::end(kVendorCompilers) ? nullptr : found;
}

/// Points the compiler process to a library loaded by this process.
platform::EnvironmentVariables variables_of(const VendorCompiler* vendor) {
  if (vendor == nullptr || platform::trusted_variable(vendor->variable)) return {};
  const std::string path = platform::loaded_library(vendor->library);
  if (path.empty()) return {};
  return {{vendor->variable, path}};
}

std::string compiler_program() {
  constexpr const char* kName = "tern_kernel_compiler";
  std::string folders;
  for (const std::string& path : own_folders(kName)) {
    if (platform::can_execute(path)) return path;
    folders += (folders.empty() ? "" : ", ") + std::filesystem::path(path).parent_path().string();
  }
  fail(ErrorCode::unsupported,
       fmt::format("the program {}, which runs the compilers of device plugins, is missing from {}: reinstall Tern",
                   kName, folders));
}

/// Runs the plugin's compiler with further arguments behind the target.
std::string run(const Plugin& plugin, const std::string& target, const std::string& task,
                const std::vector<std::string>& words, const CompilerFolder* folder = nullptr) {
  const VendorCompiler* vendor = vendor_compiler(plugin.name());
  const std::string name = vendor == nullptr ? "the compiler of " + plugin.path : vendor->name;
  const std::string remedy = vendor == nullptr
                                 ? "update " + plugin.path
                                 : fmt::format("set the library of another {} in {}", vendor->name, vendor->variable);
  std::vector<std::string> arguments = {plugin.path, target};
  arguments.insert(arguments.end(), words.begin(), words.end());
  try {
    return run_compiler({name, compiler_program(), remedy, true}, task, arguments, folder, variables_of(vendor));
  } catch (const Error& e) {
    fail(e.code(), fmt::format("--target {}: {}", target, e.what()));
  }
}

std::vector<std::byte> compile(const Plugin& plugin, const std::string& target, const std::string& name,
                               const std::string& text) {
  const CompilerFolder folder;
  const std::string source = folder.file("source"), output = folder.file("module");
  write_source(source, text);
  run(plugin, target, "compiling " + name, {name, source, output}, &folder);
  std::vector<std::byte> module = read_module(output);
  if (const std::string problem = module_problem(target, module); !problem.empty() || module.empty())
    fail(ErrorCode::internal, fmt::format("--target {}: the plugin compiled {} to an invalid module: {}", target, name,
                                          module.empty() ? "nothing" : problem));
  return module;
}

std::string compiler_of(const Plugin& plugin, const std::string& target) {
  std::string text = run(plugin, target, "asking for its version", {});
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // libraries may print before
}

}  // namespace

std::vector<KernelTarget> plugin_targets(const std::string& name) {
  std::vector<KernelTarget> targets;
  const Plugin* plugin = device_plugin(name, false);
  const auto* compiler = plugin == nullptr ? nullptr : PluginTables(*plugin->table).kernel_compiler;
  if (compiler == nullptr) return targets;
  std::istringstream words(compiler->targets());
  for (std::string target; words >> target;) {
    targets.push_back({target,
                       {{"GPU", compiler->dialect, compiler->features, 0}},
                       [plugin, target](const std::string& kernel, const std::string& text) {
                         return compile_once(target, text, [&] { return compile(*plugin, target, kernel, text); });
                       },
                       [plugin, target] { return compiler_of(*plugin, target); }});
  }
  return targets;
}

}  // namespace tern
