// A device's kernel table that records each executed node, and tags its launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "tests/gpu/model/emulator.h"

namespace tern::gpu_model {

// An executed node.
struct NodeCall {
  std::string op;            // "matmul"
  std::string sizes;         // "float32[128, 768] x float32[768, 768] -> float32[128, 768]"
  std::string type;          // type of the first result
  std::int32_t origin = -1;  // in Program::origins
  double bytes = 0;          // the least: operands and results once
  double operations = 0;     // defined for products and expressions; 0 for other nodes
};

// A single instance at a time: kernels are functions without an object.
class CountedKernels {
 public:
  // `kernels` and `emulator` must outlive all programs that run by table().
  CountedKernels(const KernelTable& kernels, const Emulator& emulator);
  ~CountedKernels();
  CountedKernels(const CountedKernels&) = delete;
  CountedKernels& operator=(const CountedKernels&) = delete;

  const KernelTable& table() const { return table_; }
  // Launches with tag t belong to the node at t - 1. Tag 0: copies between nodes.
  std::vector<NodeCall> calls;

 private:
  static void run(KernelCall& call);

  const KernelTable& kernels_;
  const Emulator& emulator_;
  KernelTable table_;
};

}  // namespace tern::gpu_model
