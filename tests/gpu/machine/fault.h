// Reports a kernel's access to inaccessible memory.
#pragma once

#include <string>

namespace tern::emulator {

// Installs a handler for SIGSEGV and SIGBUS; faults elsewhere go to the previous handler.
void install_fault_handler();

// Names the device work of this thread during its lifetime.
class Running {
 public:
  explicit Running(std::string what);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::string description_, previous_description_;
};

}  // namespace tern::emulator
