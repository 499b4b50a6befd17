#include "tests/gpu/metal/system.h"

#include <cstdlib>

#include "tests/gpu/machine/fault.h"

namespace tern::emulator::metal {

std::int64_t system_version() {
  constexpr std::int64_t kNewest = 26;
  const char* text = std::getenv("TERN_EMULATOR_MACOS");
  return text == nullptr || *text == 0 ? kNewest : std::strtoll(text, nullptr, 10);
}

std::shared_ptr<Context> context_of(int device) {
  static std::map<int, std::uint64_t>& handles = *std::make_unique<std::map<int, std::uint64_t>>().release();
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.lock);
  if (handles.empty()) {
    install_fault_handler();
    machine.initialize();
  }
  if (handles.count(device) == 0) handles[device] = machine.retain_primary(device);
  return machine.context(handles[device]);
}

}  // namespace tern::emulator::metal
