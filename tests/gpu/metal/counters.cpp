// Counters for tests in process, and the report at exit (TERN_EMULATOR_REPORT): fallible calls, launches, copies, and
// unreleased objects.
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "tests/gpu/machine/settings.h"
#include "tests/gpu/metal/object.h"

using namespace tern::emulator;

#define TERN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::string report() {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.lock);
  machine.count();
  std::ostringstream out;
  out << "{\n  \"objects\": {";
  const char* comma = "";
  for (const auto& [name, count] : metal::alive()) {
    out << comma << "\"" << name << "\": " << count;
    comma = ", ";
  }
  out << "},\n  \"machine\": " << machine.counters.json() << "}\n";
  return out.str();
}

struct AtExit {
  ~AtExit() {
    if (settings().report.empty()) return;
    std::ofstream file(settings().report);
    file << report();
    if (!file.flush()) std::fprintf(stderr, "emulated GPU: cannot write %s\n", settings().report.c_str());
  }
} at_exit;

}  // namespace

TERN_EXPORT void tern_emulator_fail(const char* selector, std::uint64_t n) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.lock);
  machine.counters.fail(selector, n);
}

TERN_EXPORT std::uint64_t tern_emulator_objects(const char* name) {
  const auto all = metal::alive();
  const auto at = all.find(name);
  return at == all.end() ? 0 : at->second;
}

TERN_EXPORT std::uint64_t tern_emulator_launches(const char* kernel) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.lock);
  return machine.counters.launches(kernel);
}

TERN_EXPORT const char* tern_emulator_report(void) {
  thread_local std::unique_ptr<const std::string> kept;
  kept = std::make_unique<const std::string>(report());
  return kept->c_str();
}
