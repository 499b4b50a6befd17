#include "exporter/kernels/plugin_targets.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <sstream>

#include "loader/kernel_modules.h"
#include "runtime/devices/plugin/library.h"
#include "runtime/devices/plugin/tables.h"

namespace tern {
namespace {

std::vector<std::byte> compile(const tern_device_plugin& plugin, const tern_device_kernel_compiler_functions& compiler,
                               const std::string& target, const std::string& name, const std::string& text) {
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = compiler.dialect;
  source.name = name.c_str();
  source.text = text.c_str();
  source.length = text.size();
  std::vector<std::byte> module;
  const auto take = [](void* context, const void* bytes, std::uint64_t length) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    static_cast<std::vector<std::byte>*>(context)->assign(begin, begin + length);
  };
  if (compiler.compile(target.c_str(), &source, take, &module) != TERN_DEVICE_OK)
    fail(ErrorCode::unsupported, fmt::format("--target {}: {}: {}", target, name, plugin.last_message()));
  if (const std::string problem = module_problem(target, module); !problem.empty() || module.empty())
    fail(ErrorCode::internal, fmt::format("--target {}: what the plugin made of {}: {}", target, name,
                                          module.empty() ? "nothing" : problem));
  return module;
}

std::string compiler_of(const tern_device_plugin& plugin, const tern_device_kernel_compiler_functions& compiler,
                        const std::string& target) {
  const char* text = compiler.compiler(target.c_str());
  if (text == nullptr) fail(ErrorCode::unsupported, fmt::format("--target {}: {}", target, plugin.last_message()));
  return text;
}

}  // namespace

std::vector<KernelTarget> plugin_targets() {
  std::vector<KernelTarget> targets;
  for (const Plugin& p : device_plugins()) {
    if (p.table == nullptr) continue;
    const tern_device_plugin& plugin = *p.table;
    const auto* compiler = PluginTables(plugin).kernel_compiler;
    if (compiler == nullptr) continue;
    std::istringstream words(compiler->targets());
    for (std::string name; words >> name;) {
      targets.push_back({name,
                         {{"GPU", compiler->dialect, compiler->features, 0}},
                         [&plugin, compiler, name](const std::string& kernel, const std::string& text) {
                           return compile(plugin, *compiler, name, kernel, text);
                         },
                         [&plugin, compiler, name] { return compiler_of(plugin, *compiler, name); }});
    }
  }
  return targets;
}

}  // namespace tern
