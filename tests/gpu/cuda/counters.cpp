// Counters for tests in process, and the report at exit.
#include <memory>
#include <string>

#include "tests/gpu/cuda/call.h"
#include "tests/gpu/machine/settings.h"

using namespace tern::emulator;

#define TERN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::string report() {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  machine.count();
  return machine.counters.json();
}

// Writes the report when the library is unloaded: after the destructors of its users, which were loaded later or depend
// on the library.
struct AtExit {
  ~AtExit() { write_report(Machine::get().counters, report()); }
} at_exit;

}  // namespace

TERN_EXPORT void tern_emulator_counters(tern_emulator_figures* figures) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  machine.count();
  *figures = machine.counters.figures;
}

TERN_EXPORT uint64_t tern_emulator_calls(const char* function) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  return machine.counters.calls(function);
}

TERN_EXPORT uint64_t tern_emulator_launches(const char* kernel) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  return machine.counters.launches(kernel);
}

TERN_EXPORT void tern_emulator_fail(const char* function, uint64_t n) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  machine.counters.fail(function, n);
}

TERN_EXPORT const char* tern_emulator_why(void) {
  return cuda::last_why().c_str();
}

TERN_EXPORT void tern_emulator_count(double most_work) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  machine.counted.start(most_work);
}

TERN_EXPORT void tern_emulator_tag(uint64_t tag) {
  set_tag(tag);
}

TERN_EXPORT const tern_emulator_launch* tern_emulator_take(uint64_t* count) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  const std::vector<tern_emulator_launch>& launches = machine.counted.take_launches();
  *count = launches.size();
  return launches.data();
}

TERN_EXPORT void tern_emulator_observe(const tern_emulator_observer* observer) {
  Machine& machine = Machine::get();
  const std::lock_guard<std::recursive_mutex> guard(machine.lock);
  machine.observe(observer);
}

TERN_EXPORT const char* tern_emulator_report(void) {
  thread_local std::unique_ptr<const std::string> kept;
  kept = std::make_unique<const std::string>(report());
  return kept->c_str();
}
