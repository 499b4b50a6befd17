// The engines that are installed (tern/engine.h).
#pragma once

#include <tern/collective.h>
#include <tern/engine.h>

#include <string>
#include <vector>

namespace tern {

struct Engine {
  EngineInfo info;
  const tern_engine* table = nullptr;  ///< null where it does not load
};

/// Found once in a process, never unloaded.
const std::vector<Engine>& engines();
/// Fails where there is none of that name, and says what to install.
const tern_engine& find_engine(const std::string& name);

}  // namespace tern
