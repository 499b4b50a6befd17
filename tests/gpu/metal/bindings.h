// A kernel launch with the parameter block read by translated kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/gpu/machine/work.h"
#include "tests/gpu/metal/compiler.h"
#include "tests/gpu/metal/shim/block.h"

namespace tern::emulator::metal {

// Metal's Size: three numbers.
struct Size {
  std::uint64_t width, height, depth;
  std::uint64_t volume() const { return width * height * depth; }
};

struct Bound {
  std::uint64_t address = 0;  // host address
  std::vector<char> bytes;    // else
};

// `bound` returns the binding of a buffer index, or ends the program. Ends the program for sizes that the pipeline
// refuses.
Launch launch_of(Pipeline& pipeline, Size threads, Size group, const std::function<Bound(std::uint32_t index)>& bound);

}  // namespace tern::emulator::metal
