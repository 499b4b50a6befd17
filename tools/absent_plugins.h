// Plugins of Tern's source missing in all plugin folders.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace tern {

/// A plugin of the source, as configured by CMake: `missing` names the missing dependency, or is empty if the plugin is
/// built. devices/CMakeLists.txt generates the table.
struct KnownPlugin {
  std::string name;
  std::string devices;
  std::string missing;
};

std::span<const KnownPlugin> known_plugins();

struct AbsentPlugin {
  std::string name;
  std::string devices;
  std::string problem;
};

/// The plugins of `known` without a library among the files at `paths`, each with the reason and the remedy.
std::vector<AbsentPlugin> absent_plugins(std::span<const KnownPlugin> known, std::span<const std::string> paths);

}  // namespace tern
