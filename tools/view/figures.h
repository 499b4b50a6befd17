// What a run was measured to do, node by node: from a run of one's own, or from a trace.
#pragma once

#include <tern/tern.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tern::view {

struct RunFigures {
  std::string source;  ///< for people: "5 runs with generated inputs", "run.json"
  std::uint64_t runs = 0;
  std::vector<NodeTime> nodes;  ///< sums over all runs; `origin` and `module` are not used
};

/// Runs a function with generated inputs, twice to warm up, then 3 to 20 times, for half a second. Throws what a run
/// throws.
RunFigures measured_run(const Model& model, const std::string& function, const std::vector<std::string>& sizes);

/// What a trace of `tern run --trace` says, in Chrome's JSON; a name that ends in .gz is decompressed. Of a node that
/// ran on a device, the time is that of its kernels. Throws io, bad_file for other files, invalid_argument where it has
/// no events of nodes.
RunFigures traced_run(const std::string& path);

nlohmann::json to_json(const RunFigures& run);

}  // namespace tern::view
