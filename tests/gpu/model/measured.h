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
  NodeCall call;  // op "copy": between nodes, for a layout or a result
  std::vector<CountedLaunch> launches;
};

struct Measured {
  std::vector<CountedNode> nodes;  // ordered by first launch; nodes without launches follow
  std::uint64_t launches = 0;
  std::uint64_t graphs = 0;          // executable graphs: with a single graph, a run is a single launch for the host
  std::uint64_t outside_graphs = 0;  // single launches by the host
  double copied_bytes = 0;           // device copies, not kernels
  std::string no_graph;              // reason for a failed capture
};

// Captures a run of the program as a graph, and replays the graph once. Runs uncapturable programs directly.
Measured measure(const std::shared_ptr<const Program>& program, const std::string& function,
                 const std::vector<Tensor>& inputs, const Emulator& emulator);

}  // namespace tern::gpu_model
