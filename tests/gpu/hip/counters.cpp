// Counters for tests in process, and the report at exit (tests/gpu/machine/counters_api.h).
#include <string>

#include "tests/gpu/hip/call.h"
#include "tests/gpu/machine/settings.h"

#define TERN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using tern::gpu::hip::Machine;

// Runs `work` on the machine's counters, up to date.
template <class Work>
auto call_with_counters(const Work& work) {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.lock);
  machine.count();
  machine.counters.figures.contexts = 0;  // programs of HIP's runtime neither make nor release contexts
  return work(machine.counters);
}

std::string report() {
  return call_with_counters([](const auto& counters) { return counters.json(); });
}

// Writes the report when the library is unloaded: after the destructors of its users, which were loaded later or depend
// on the library.
struct AtExit {
  AtExit() { tern::emulator::settings(); }  // must outlive this object
  ~AtExit() {
    const std::string text = report();
    call_with_counters([&](const auto& counters) {
      tern::emulator::write_report(counters, text);
      return 0;
    });
  }
} at_exit;

}  // namespace

TERN_EXPORT void tern_emulator_counters(tern_emulator_figures* figures) {
  *figures = call_with_counters([](const auto& counters) { return counters.figures; });
}
TERN_EXPORT uint64_t tern_emulator_calls(const char* function) {
  return call_with_counters([&](const auto& counters) { return counters.calls(function); });
}
TERN_EXPORT uint64_t tern_emulator_launches(const char* kernel) {
  return call_with_counters([&](const auto& counters) { return counters.launches(kernel); });
}
TERN_EXPORT void tern_emulator_fail(const char* function, uint64_t n) {
  call_with_counters([&](auto& counters) { counters.fail(function, n); });
}
TERN_EXPORT const char* tern_emulator_why(void) {
  return tern::gpu::hip::last_why().c_str();
}
TERN_EXPORT const char* tern_emulator_report(void) {
  thread_local std::string text;
  text = report();
  return text.c_str();
}
