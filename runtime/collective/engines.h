// Installed engines (tern/engine.h).
#pragma once

#include <tern/collective.h>
#include <tern/engine.h>

#include <string>
#include <vector>

namespace tern {

struct Engine {
  EngineInfo info;
  const tern_engine* table = nullptr;  ///< null if loading failed
};

/// Searched once per process, never unloaded.
const std::vector<Engine>& engines();
/// True if groups of this name communicate by their devices (nccl, rccl). An engine below carries all other calls.
bool is_device_engine(const std::string& name);
/// Finds the engine of that name; for device groups, the first loadable engine. Fails if none exists, naming the
/// package to install.
const tern_engine& find_engine(const std::string& name);

}  // namespace tern
