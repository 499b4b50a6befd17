#include "tests/gpu/machine/settings.h"

#include <cstdio>
#include <cstdlib>

#include "tests/gpu/machine/status.h"

namespace tern::emulator {
namespace {

uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == 0) return otherwise;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (*end != 0) fatal("%s is '%s'; it has to be a number", name, text);
  return value;
}

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Settings read() {
  Settings result;
  result.devices = static_cast<int>(number("TERN_EMULATOR_DEVICES", 1));
  result.busy = text("TERN_EMULATOR_BUSY");
  result.peers = number("TERN_EMULATOR_PEERS", 1) != 0;
  result.driver = static_cast<int>(number("TERN_EMULATOR_DRIVER", 0));
  result.memory = number("TERN_EMULATOR_MEMORY", result.memory);
  result.most_rounds = number("TERN_EMULATOR_ROUNDS", result.most_rounds);
  result.log = number("TERN_EMULATOR_LOG", 0) != 0;
  result.protect = number("TERN_EMULATOR_PROTECT", 0) != 0;
  result.report = text("TERN_EMULATOR_REPORT");
  result.fail = text("TERN_EMULATOR_FAIL");
  result.binaries = text("TERN_EMULATOR_CUBINS");
  const std::string capability = text("TERN_EMULATOR_CAPABILITY");
  if (!capability.empty() && std::sscanf(capability.c_str(), "%d.%d", &result.major, &result.minor) != 2) {
    fatal("TERN_EMULATOR_CAPABILITY is '%s'; it has to be like 9.0", capability.c_str());
  }
  return result;
}

}  // namespace

const Settings& settings() {
  static const Settings* result = new Settings(read());  // never freed: read by the report at exit
  return *result;
}

}  // namespace tern::emulator
