// Work of streams and graph nodes: kernels, copies, fills.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/gpu/machine/module.h"

namespace tern::emulator {

struct Launch {
  std::shared_ptr<Function> function;
  std::shared_ptr<Module> module;
  std::vector<char> parameters;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t local_bytes = 0;
  uint64_t tag = 0;  // set by the counting program
};

enum class Direction { in, out, device_to_device };

struct Copy {
  Direction direction = Direction::device_to_device;
  uint64_t target = 0, source = 0, bytes = 0;
  // The source of a copy from pageable memory outside of a graph, read when the copy was queued.
  std::shared_ptr<std::vector<char>> staged;
  bool pinned = false;  // the host's side was pinned memory
};

struct Fill {
  uint64_t target = 0;
  uint32_t value = 0, element = 1;  // bytes of an element: 1, 2 or 4
  uint64_t count = 0;
};

using Work = std::variant<Launch, Copy, Fill>;

// Text for messages: "kernel scale", "a copy of 12 bytes to the host".
std::string text(const Work& work);

}  // namespace tern::emulator
