// tern devices: the available devices, and absent or unusable plugins.
#include <fmt/format.h>
#include <tern/error.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "dtypes/printable.h"
#include "platform/isolated.h"
#include "runtime/devices/plugin/open.h"
#include "tools/absent_plugins.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr const char* kDialects[] = {"C++", "OpenCL C", "CUDA", "HIP", "Metal"};

/// The plugin's tables of further functions among the tables known to Tern.
std::vector<std::string> extensions_of(const PluginDevice& device) {
  const PluginTables& t = device.tables();
  const std::pair<const char*, bool> tables[] = {{"collective", t.collectives != nullptr},
                                                 {"events", t.events != nullptr},
                                                 {"graph", t.graphs != nullptr},
                                                 {"graph_conditional", t.conditionals != nullptr},
                                                 {"override", t.overrides != nullptr},
                                                 {"memory_segments", device.maps_memory()},
                                                 {"partition", t.partitions != nullptr},
                                                 {"profiler", t.profiler != nullptr},
                                                 {"pinned_memory", t.pinned_memory != nullptr}};
  std::vector<std::string> names;
  for (const auto& [name, there] : tables) {
    if (there) names.emplace_back(name);
  }
  return names;
}

nlohmann::ordered_json device_entry(const Plugin& plugin, int index) {
  const std::string name = fmt::format("{}:{}", plugin.name(), index);
  nlohmann::ordered_json entry{{"name", name}, {"plugin", plugin.path}};
  try {
    const PluginDevice& device = plugin_device(plugin, index);
    const tern_device_properties& p = device.properties();
    entry["description"] = std::string(p.name);
    entry["driver"] = std::string(p.driver);
    entry["kernels"] = kDialects[p.dialect];
    entry["spirv"] = (p.features & TERN_DEVICE_SPIRV) != 0;
    entry["kernel_targets"] = kernel_targets(p);
    entry["float64"] = (p.features & TERN_DEVICE_DOUBLE) != 0;
    entry["units"] = p.units;
    entry["memory_bytes"] = p.memory_bytes;
    if (const std::uint64_t limit = device.memory().limit; limit != 0) entry["memory_limit"] = limit;
    entry["extensions"] = extensions_of(device);
    if (const tern_device_library_functions* l = device.tables().libraries; l != nullptr)
      entry["libraries"] = std::string(l->describe(index));
  } catch (const Error& e) {
    entry["problem"] = e.what();
  }
  return entry;
}

/// The problem's text, indented by two columns.
std::string problem_text(const nlohmann::ordered_json& problem) {
  return escape_message(indented(problem.get<std::string>()), 4000);
}

std::string line_of(const nlohmann::ordered_json& d) {
  const std::string name = escape_name(d["name"].get<std::string>());
  if (d.contains("problem")) return fmt::format("{:8}  cannot be used: {}\n", name, problem_text(d["problem"]));
  std::string further;
  for (const auto& e : d["extensions"]) further += (further.empty() ? "; has " : ", ") + e.get<std::string>();
  if (d.contains("memory_limit"))
    further = fmt::format(", limited to {:.1f} GiB",
                          static_cast<double>(d["memory_limit"].get<std::uint64_t>()) / (1 << 30)) +
              further;
  return fmt::format("{:8}  {} ({}), {} units, {:.1f} GiB, kernels in {}{}{}{}\n", name,
                     escape_name(d["description"].get<std::string>()), escape_name(d["driver"].get<std::string>()),
                     d["units"].get<std::uint32_t>(),
                     static_cast<double>(d["memory_bytes"].get<std::uint64_t>()) / (1 << 30),
                     d["kernels"].get<std::string>(), d["spirv"].get<bool>() ? " or SPIR-V" : "",
                     d["float64"].get<bool>() ? "" : ", no float64", further);
}

/// Lists the devices of a plugin: name, devices, and the problem if the plugin has no devices.
nlohmann::ordered_json plugin_entry(const std::string& path) {
  const Plugin& plugin = plugin_of_file(path);
  nlohmann::ordered_json entry{
      {"name", plugin.name()}, {"problem", plugin.problem}, {"devices", nlohmann::ordered_json::array()}};
  for (int i = 0; i < plugin.count; ++i) entry["devices"].push_back(device_entry(plugin, i));
  return entry;
}

std::string plugin_text(const std::string& path) {
  return plugin_entry(path).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Calls plugin_entry() in another process: drivers of several vendors may conflict in a process, and some crash.
nlohmann::ordered_json isolated_entry(const std::string& path) {
  constexpr std::chrono::minutes kLimit(2);
  const platform::IsolatedResult result =
      platform::run_isolated(kLimit, [&] { return plugin_text(path); }, {"devices", "--plugin", path});
  if (result.problem.empty()) return nlohmann::ordered_json::parse(result.text);
  return {
      {"name", ""},
      {"problem", result.problem + " while its devices were listed: update its driver, or remove it from the folder"},
      {"devices", nlohmann::ordered_json::array()}};
}

int run_devices(bool json) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array(), problems = nlohmann::ordered_json::array(),
                         absent = nlohmann::ordered_json::array();
  const std::vector<std::string> paths = plugin_paths();
  std::map<std::string, std::string> path_of;  // key: name of devices
  for (const std::string& path : paths) {
    nlohmann::ordered_json p = output_is_taken() ? plugin_entry(path) : isolated_entry(path);
    const std::string name = p["name"];
    if (const auto [same, is_new] = path_of.emplace(name, path); !is_new && !name.empty()) {
      p["problem"] = fmt::format("{} already has devices named '{}'", same->second, name);
      p["devices"].clear();
    }
    if (p["problem"] != "") problems.push_back({{"plugin", path}, {"problem", p["problem"]}});
    for (auto& d : p["devices"]) devices.push_back(std::move(d));
  }
  for (const AbsentPlugin& p : absent_plugins(known_plugins(), paths))
    absent.push_back({{"name", p.name}, {"devices", p.devices}, {"problem", p.problem}});
  if (json) {
    const nlohmann::ordered_json document{{"devices", devices}, {"problems", problems}, {"absent", absent}};
    print_output(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return 0;
  }
  fmt::print("{:8}  this processor\n", "cpu");
  for (const auto& d : devices) {
    fmt::print("{}", line_of(d));
    if (d.contains("libraries"))
      fmt::print("{:8}  libraries: {}\n", "", escape_name(d["libraries"].get<std::string>(), 4000));
  }
  for (const auto& p : problems) {
    fmt::print("\nNot used: {}\n  {}\n", escape_name(p["plugin"].get<std::string>()), problem_text(p["problem"]));
  }
  for (const auto& p : absent) {
    fmt::print("\nNo plugin: {} ({})\n  {}\n", p["name"].get<std::string>(), p["devices"].get<std::string>(),
               p["problem"].get<std::string>());
  }
  return 0;
}

}  // namespace

void add_devices_command(Command app, CommandLine& line) {
  auto json = std::make_shared<bool>(false);
  const Command c = app.add_subcommand(
      "devices", "List the devices that programs can run on, and why a plugin is absent or not loaded");
  c.add_flag("--json", *json, "Print the list as JSON");
  c.footer(
      "Examples:\n  tern devices\n  tern run model.tern --random --device xpu\n\n"
      "Plugins are loaded from the folder for devices beside this command, and from the files and folders in "
      "TERN_DEVICE_PATH.");
  // Hidden: isolated_entry() gives it on systems without fork.
  auto plugin = std::make_shared<std::string>();
  c.add_option("--plugin", *plugin).group("");
  c.callback([json, plugin, &line] {
    if (plugin->empty()) {
      line.status = run_devices(*json);
    } else {
      platform::write_isolated(plugin_text(*plugin));
    }
  });
}

}  // namespace tern
