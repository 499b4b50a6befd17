#include "tools/absent_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace tern {
namespace {

const KnownPlugin kKnownPlugins[] = {
#include "devices/plugins.inc"
};

std::string reason(const KnownPlugin& p) {
  if (!p.missing.empty()) {
    return fmt::format(
        "this build left it out, since {}; in the source folder './dev setup devices' installs it and './dev build' "
        "builds the plugin",
        p.missing);
  }
  return fmt::format("libtern_{}.so is not in the folder for plugins; in the source folder './dev build' builds it",
                     p.name);
}

}  // namespace

std::span<const KnownPlugin> known_plugins() {
  return kKnownPlugins;
}

std::vector<AbsentPlugin> absent_plugins(std::span<const KnownPlugin> known, std::span<const std::string> paths) {
  std::vector<AbsentPlugin> absent;
  for (const KnownPlugin& p : known) {
    const std::string stem = "libtern_" + p.name;
    const bool is_present = std::ranges::any_of(
        paths, [&](const std::string& path) { return std::filesystem::path(path).stem().string() == stem; });
    if (!is_present) absent.push_back({p.name, p.devices, reason(p)});
  }
  return absent;
}

}  // namespace tern
