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
/// Whether a group of this name communicates by its devices (nccl, rccl); an engine below carries what they do not.
bool of_devices(const std::string& name);
/// Fails where there is none of that name, and says what to install. For groups of devices: the first that loads.
const tern_engine& find_engine(const std::string& name);

}  // namespace tern
