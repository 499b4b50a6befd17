// Plugins that Tern's source has and that no folder for plugins holds.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace tern {

/// A plugin of the source, as CMake configured this build: `missing` says what was not found, or is empty if the plugin
/// is built. devices/CMakeLists.txt makes the table.
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

/// Those of `known` whose library is none of the files at `paths`, each with the reason and what to do.
std::vector<AbsentPlugin> absent_plugins(std::span<const KnownPlugin> known, std::span<const std::string> paths);

}  // namespace tern
