// Counts what the program does, and fails the calls that a test names.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/gpu/machine/counters_api.h"

namespace tern::emulator {

class Counters {
 public:
  Counters();

  // One more call of the function. True if it has to fail.
  bool call(const char* function);
  void fail(const std::string& function, uint64_t n);
  void refused(const char* function, bool mistake);
  void launch(const std::string& kernel);
  void copy_in(uint64_t bytes);
  void copy_out(uint64_t bytes);

  std::string json() const;
  uint64_t calls(const std::string& function) const;
  uint64_t launches(const std::string& kernel) const;

  tern_emulator_figures figures = {};
  // Objects that were alive when their context ended, by kind.
  std::map<std::string, uint64_t> leaked;

 private:
  std::map<std::string, uint64_t> calls_, refused_, launches_;
  std::map<std::string, uint64_t> fail_;  // calls until the failing one
};

// Writes the report of TERN_EMULATOR_REPORT. Where one process has the drivers of several vendors, the one that ran
// kernels has the last word.
void write_report(const Counters& counters, const std::string& report);

}  // namespace tern::emulator
