#include "tests/gpu/metal/bindings.h"

#include <cstring>

namespace tern::emulator::metal {
namespace {

using ull = unsigned long long;

}  // namespace

Launch launch_of(Pipeline& pipeline, Size threads, Size group, const std::function<Bound(std::uint32_t index)>& bound) {
  const tern_emulated_kernel& kernel = *pipeline.function->kernel;
  if (threads.height != 1 || threads.depth != 1 || group.height != 1 || group.depth != 1)
    fatal("dispatchThreads: the stand-in runs grids of one dimension");
  if (threads.volume() == 0 || threads.width > 0xffffffffull || group.volume() == 0 ||
      group.volume() > pipeline.most_threads())
    fatal("dispatchThreads: %llu threads in groups of %llu; this pipeline takes groups of 1 to %llu",
          static_cast<ull>(threads.volume()), static_cast<ull>(group.volume()),
          static_cast<ull>(pipeline.most_threads()));
  shim::Block block{};
  block.items = threads.width;
  std::vector<char> values;
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) {
    const std::uint32_t index = kernel.parameters[i].offset;
    const Bound b = bound(index);
    if (b.address != 0) {
      block.slots[index] = {b.address, 0};
      continue;
    }
    constexpr std::size_t kAlignment = 16;
    values.resize((values.size() + kAlignment - 1) / kAlignment * kAlignment);
    block.slots[index] = {sizeof block + values.size(), 1};
    values.insert(values.end(), b.bytes.begin(), b.bytes.end());
  }
  Launch launch;
  launch.function = pipeline.function;
  launch.module = pipeline.module;
  launch.parameters.resize(sizeof block);
  std::memcpy(launch.parameters.data(), &block, sizeof block);
  launch.parameters.insert(launch.parameters.end(), values.begin(), values.end());
  launch.grid[0] = static_cast<std::uint32_t>((threads.width + group.width - 1) / group.width);
  launch.block[0] = static_cast<std::uint32_t>(group.width);
  return launch;
}

}  // namespace tern::emulator::metal
