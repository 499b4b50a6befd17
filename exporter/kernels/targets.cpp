#include "exporter/kernels/targets.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/kernels/plugin_targets.h"
#include "exporter/kernels/spirv.h"
#include "runtime/devices/plugin/library.h"

namespace tern {
namespace {

constexpr auto kDouble = static_cast<std::uint64_t>(TERN_DEVICE_DOUBLE);
constexpr auto kGroups = static_cast<std::uint64_t>(TERN_DEVICE_GROUPS);

// Kinds reported by devices/opencl. Most kernel sources are equal for all kinds with float64.
constexpr DeviceKind kOpenClKinds[] = {
    {"GPU", TERN_DIALECT_OPENCL, kDouble | kGroups, 0},
    {"GPU without float64", TERN_DIALECT_OPENCL, kGroups, 0},
    {"device without groups", TERN_DIALECT_OPENCL, kDouble, 0},
    {"device without groups and float64", TERN_DIALECT_OPENCL, 0, 0},
    {"CPU with vectors of 4 floats", TERN_DIALECT_OPENCL, kDouble, 4},
    {"CPU with vectors of 8 floats", TERN_DIALECT_OPENCL, kDouble, 8},
    {"CPU with vectors of 16 floats", TERN_DIALECT_OPENCL, kDouble, 16},
};

// Kinds reported by devices/metal.
constexpr DeviceKind kMetalKind = {"GPU", TERN_DIALECT_METAL, kGroups, 0};

/// The text itself: the system of a Metal device compiles it.
std::vector<std::byte> bytes_of_msl(const std::string& /*name*/, const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string msl_compiler() {
  return "none: Metal's language is compiled by the device's system";
}

std::vector<KernelTarget> own_targets() {
  return {{"xpu:spirv", {std::begin(kOpenClKinds), std::end(kOpenClKinds)}, compile_spirv, spirv_compiler},
          {"metal:msl", {kMetalKind}, bytes_of_msl, msl_compiler}};
}

}  // namespace

KernelTarget kernel_target(std::string_view name) {
  std::string names = "cpu";
  const std::string plugin(name.substr(0, name.find(':')));
  for (const auto& list : {own_targets(), plugin_targets(plugin)}) {
    for (const KernelTarget& t : list) {
      if (t.name == name) return t;
      names += fmt::format(", {}", t.name);
    }
  }
  if (const std::string plugins = plugin_names(); !plugins.empty())
    names += fmt::format(", and the targets of the plugins {} (docs/devices.md)", plugins);
  fail(ErrorCode::invalid_argument,
       fmt::format("unknown target '{}'; the targets are: {}. 'tern devices' lists absent plugins and the reasons",
                   name.substr(0, 80), names));
}

}  // namespace tern
