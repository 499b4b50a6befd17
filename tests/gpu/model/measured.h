// A program's run on the emulated CUDA device, node by node.
#pragma once

#include <tern/tern.h>

#include <string>
#include <vector>

#include "tests/gpu/counts.h"
#include "tests/gpu/model/counted_kernels.h"

namespace tern::gpu_model {

struct CountedLaunch {
  std::string kernel, ptx;
  std::uint32_t grid[3] = {}, block[3] = {};
  std::uint32_t static_bytes = 0, dynamic_bytes = 0;
  bool in_graph = false;
  tern_emulated_counts counts{};
};

struct CountedNode {
  NodeCall call;  // op "copy": one between nodes, that a layout or a result needs
  std::vector<CountedLaunch> launches;
};

struct Measured {
  std::vector<CountedNode> nodes;  // in the order of their first launches; those without launches follow
  std::uint64_t launches = 0;
  std::uint64_t graphs = 0;          // that the device holds: with 1, a run is one launch for the host
  std::uint64_t outside_graphs = 0;  // launches that the host makes one by one
  double copied_bytes = 0;           // by copies on the device, which are no kernels
  std::string no_graph;              // why the run could not be captured
};

// Captures one run of the program as a graph, and replays it once. A run that cannot be captured runs as it is.
Measured measure(const std::shared_ptr<const Program>& program, const std::string& function,
                 const std::vector<Tensor>& inputs, const Emulator& emulator);

}  // namespace tern::gpu_model
