// Environment variables of the emulated machine.
#pragma once

#include <cstdint>
#include <string>

namespace tern::emulator {

struct Settings {
  int devices = 1;                  // TERN_EMULATOR_DEVICES
  std::string busy;                 // TERN_EMULATOR_BUSY=0,2: devices that another process uses exclusively
  bool peers = true;                // TERN_EMULATOR_PEERS=0: no device accesses the memory of another
  int major = 9, minor = 0;         // TERN_EMULATOR_CAPABILITY=9.0
  int driver = 0;                   // TERN_EMULATOR_DRIVER=13000; 0: the version of the header
  uint64_t memory = 80ull << 30;    // TERN_EMULATOR_MEMORY: bytes of a device
  uint64_t most_rounds = 10000000;  // TERN_EMULATOR_ROUNDS: iterations of a WHILE loop that count as endless
  bool log = false;                 // TERN_EMULATOR_LOG=1: logs refused calls to stderr
  bool protect = false;             // TERN_EMULATOR_PROTECT=1: host code faults on device memory
  std::string report;               // TERN_EMULATOR_REPORT: file for the counters as JSON, written at exit
  std::string fail;                 // TERN_EMULATOR_FAIL=NAME:N,...
  std::string binaries;             // TERN_EMULATOR_CUBINS: folder with the PTX of each binary
};

// Read once. Ends the process for an invalid value.
const Settings& settings();

}  // namespace tern::emulator
