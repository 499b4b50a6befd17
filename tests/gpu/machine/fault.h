// Says what a kernel did wrong when it touches memory that it must not touch.
#pragma once

#include <string>

namespace tern::emulator {

// Handles SIGSEGV and SIGBUS from now on; faults elsewhere go to the handler that was there before.
void install_fault_handler();

// While it lives, this thread runs device work of this name.
class Running {
 public:
  explicit Running(std::string what);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::string what_, before_;
};

}  // namespace tern::emulator
