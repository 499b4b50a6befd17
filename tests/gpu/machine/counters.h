// Counts the program's calls, and fails calls on request.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/gpu/machine/counters_api.h"

namespace tern::emulator {

class Counters {
 public:
  Counters();

  // Counts a call of the function. True for an injected failure.
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
  // Objects alive at the end of their context, by kind.
  std::map<std::string, uint64_t> leaked;

 private:
  std::map<std::string, uint64_t> calls_, refused_, launches_;
  std::map<std::string, uint64_t> fail_;  // calls until the injected failure
};

// Writes the report of TERN_EMULATOR_REPORT. In a process with drivers of several vendors, the driver that ran kernels
// writes last.
void write_report(const Counters& counters, const std::string& report);

}  // namespace tern::emulator
