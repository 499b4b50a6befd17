#include "tests/gpu/machine/counted.h"

#include <cstring>

#include "tests/gpu/machine/memory.h"

namespace tern::emulator {
namespace {

thread_local uint64_t tag = 0;

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Addresses are keyed by their offset in a line of 128 bytes.
std::string key_of(const Launch& launch, const Memory& memory) {
  std::string key = launch.module->path + ' ' + launch.function->kernel->name + ' ';
  append(key, launch.grid);
  append(key, launch.block);
  append(key, launch.local_bytes);
  const tern_emulated_kernel& kernel = *launch.function->kernel;
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    const char* bytes = &launch.parameters[kernel.parameters[i].offset];
    uint64_t address = 0;
    if (kernel.parameters[i].size == sizeof(address)) std::memcpy(&address, bytes, sizeof(address));
    if (address != 0 && memory.is_device(address)) {
      append(key, 'a');
      append(key, static_cast<unsigned char>(address % 128));
    } else {
      key.append(bytes, kernel.parameters[i].size);
    }
  }
  return key;
}

}  // namespace

void set_tag(uint64_t value) {
  tag = value;
}

uint64_t current_tag() {
  return tag;
}

void CountedLaunches::run(const Launch& launch, tern_emulated_launch call, bool in_graph, const Memory& memory) {
  const auto [at, is_new] = cached_counts_.try_emplace(key_of(launch, memory));
  Counted& counted = at->second;
  if (is_new) {
    counted.launch = launch;
    counted.counts.most_work = most_work_;
    call.counts = &counted.counts;
  }
  // Kernels without counting code report no blocks.
  if (is_new || counted.counts.ran_whole != 0 || counted.counts.blocks == 0) launch.function->kernel->run(&call);
  tern_emulator_launch result = {};
  result.tag = launch.tag;
  result.kernel = launch.function->kernel->name;
  result.text = counted.launch.module->text.c_str();
  for (int i = 0; i < 3; ++i) {
    result.grid[i] = launch.grid[i];
    result.block[i] = launch.block[i];
  }
  result.static_bytes = launch.function->kernel->local_bytes;
  result.dynamic_bytes = launch.local_bytes;
  result.in_graph = in_graph;
  result.counts = &counted.counts;
  launches_.push_back(result);
}

const std::vector<tern_emulator_launch>& CountedLaunches::take_launches() {
  taken_launches_.swap(launches_);
  launches_.clear();
  return taken_launches_;
}

}  // namespace tern::emulator
