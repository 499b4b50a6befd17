// The emulated driver behind a GPU's plugin (tests/gpu).
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <regex>
#include <string>
#include <type_traits>

#include "tests/gpu/machine/counters_api.h"

namespace tern::testing {

/// Counters of the plugin's driver; null members for a real driver.
struct EmulatedDriver {
  /// `plugin`: "cuda", "rocm"; other plugins have no emulated driver.
  explicit EmulatedDriver(const std::string& plugin) {
    if (plugin != "cuda" && plugin != "rocm") return;
    void* handle = dlopen(plugin == "cuda" ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) return;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    };
    load(counters, "tern_emulator_counters");
    load(fail, "tern_emulator_fail");
    load(calls, "tern_emulator_calls");
    load(report, "tern_emulator_report");
  }
  tern_emulator_figures figures() const {
    tern_emulator_figures f{};
    counters(&f);
    return f;
  }
  /// Number of calls so far, by function.
  std::map<std::string, std::uint64_t> all_calls() const {
    const std::string text = report();
    const std::size_t begin = text.find("{", text.find("\"calls_by_name\"")), end = text.find("}", begin);
    std::map<std::string, std::uint64_t> found;
    static const std::regex entry("\"([A-Za-z0-9_]+)\": ([0-9]+)");
    for (std::sregex_iterator at(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                 text.begin() + static_cast<std::ptrdiff_t>(end), entry);
         at != std::sregex_iterator(); ++at)
      found[(*at)[1]] = std::stoull((*at)[2]);
    return found;
  }

  void (*counters)(tern_emulator_figures*) = nullptr;
  void (*fail)(const char*, std::uint64_t) = nullptr;
  std::uint64_t (*calls)(const char*) = nullptr;
  const char* (*report)() = nullptr;
};

}  // namespace tern::testing
