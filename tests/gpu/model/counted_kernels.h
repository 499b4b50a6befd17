// A device's kernels that note each node which they run, and tag its launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "tests/gpu/model/emulator.h"

namespace tern::gpu_model {

// A node as it ran.
struct NodeCall {
  std::string op;            // "matmul"
  std::string sizes;         // "float32[128, 768] x float32[768, 768] -> float32[128, 768]"
  std::string type;          // of the first result
  std::int32_t origin = -1;  // in Program::origins
  double bytes = 0;          // the least: operands and results once
  double operations = 0;     // of the definition of products and expressions; 0 for other nodes
};

// One at a time: kernels are functions without an object.
class CountedKernels {
 public:
  // Both live longer than the programs that run by table().
  CountedKernels(const KernelTable& kernels, const Emulator& emulator);
  ~CountedKernels();
  CountedKernels(const CountedKernels&) = delete;
  CountedKernels& operator=(const CountedKernels&) = delete;

  const KernelTable& table() const { return table_; }
  // The node of launches with tag t is the one at t - 1. Tag 0: copies between nodes.
  std::vector<NodeCall> calls;

 private:
  static void run(KernelCall& call);

  const KernelTable& kernels_;
  const Emulator& emulator_;
  KernelTable table_;
};

}  // namespace tern::gpu_model
