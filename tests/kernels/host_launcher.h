// Runs the portable kernels in the test's memory, compiled by the system's C++ compiler: a node test covers both the
// portable and the CPU kernels.
#pragma once

#include "kernels/generate/text_compiler.h"
#include "kernels/portable/launches.h"

namespace tern::test {

class HostLauncher : public generate::TextCompiler {
 public:
  HostLauncher() : TextCompiler({}) {}
  static HostLauncher& instance() {
    static HostLauncher launcher;
    return launcher;
  }
};

}  // namespace tern::test
