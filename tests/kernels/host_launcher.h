// Runs the portable kernels in the memory of the test, so that a node is tested on them as on the CPU's own: their text
// is compiled by the system's C++ compiler.
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
