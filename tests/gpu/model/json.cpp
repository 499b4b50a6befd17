#include "tests/gpu/model/json.h"

#include <sstream>

namespace tern::gpu_model {
namespace {

using nlohmann::json;

json accesses(const tern_emulated_accesses& a) {
  return {{"requests", a.requests},
          {"sectors", a.sectors},
          {"least_sectors", a.least_sectors},
          {"memory_bytes", a.memory_bytes}};
}

// Line `line`, from 1, without tabs; empty for 0.
std::string line_of(const std::string& text, std::uint32_t line) {
  std::istringstream lines(text);
  std::string found;
  for (std::uint32_t i = 0; i < line; ++i) std::getline(lines, found);
  std::erase(found, '\t');
  return found;
}

json launch_json(const CountedLaunch& launch, const Assembler& assembler) {
  const tern_emulated_counts& c = launch.counts;
  json result = {
      {"kernel", launch.kernel},
      {"grid", launch.grid},
      {"block", launch.block},
      {"shared_bytes", launch.static_bytes + launch.dynamic_bytes},
      {"in_graph", launch.in_graph},
      {"counted", c.blocks != 0},
      {"whole", c.ran_whole != 0},
      {"loads", accesses(c.loads)},
      {"stores", accesses(c.stores)},
      {"atomics", accesses(c.atomics)},
      {"shared",
       {{"requests", c.shared_requests}, {"passes", c.shared_passes}, {"least_passes", c.shared_least_passes}}},
      {"local_bytes", c.local_bytes},
      {"operations", c.operations},
      {"tensor_operations", c.tensor_operations},
      {"worst",
       {{"line", c.worst_line},
        {"instruction", line_of(launch.ptx, c.worst_line)},
        {"sectors", c.worst_sectors},
        {"least_sectors", c.worst_least_sectors}}}};
  if (launch.ptx.empty()) return result;
  if (!assembler.cache.empty()) result["text"] = kept_text(launch.ptx, assembler.cache);
  if (assembler.ptxas.empty()) return result;
  const Resources r = resources_of(launch.ptx, launch.kernel, assembler.ptxas, assembler.cache);
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  result["registers"] = r.registers;
  result["spill_bytes"] = r.spill_bytes;
  result["stack_bytes"] = r.stack_bytes;
  result["occupancy"] = occupancy(r, threads, launch.static_bytes, launch.dynamic_bytes);
  return result;
}

}  // namespace

json to_json(const Measured& measured, const Program& program, const Assembler& assembler) {
  json nodes = json::array();
  for (const CountedNode& node : measured.nodes) {
    json launches = json::array();
    for (const CountedLaunch& launch : node.launches) launches.push_back(launch_json(launch, assembler));
    json one = {{"op", node.call.op},       {"sizes", node.call.sizes},           {"type", node.call.type},
                {"bytes", node.call.bytes}, {"operations", node.call.operations}, {"launches", launches}};
    if (node.call.origin >= 0) {
      const Origin& origin = program.origins[static_cast<std::size_t>(node.call.origin)];
      one["origin"] = origin.op;
      one["module"] = origin.module;
    }
    nodes.push_back(std::move(one));
  }
  return {{"nodes", nodes},
          {"launches", measured.launches},
          {"graphs", measured.graphs},
          {"outside_graphs", measured.outside_graphs},
          {"copied_bytes", measured.copied_bytes},
          {"no_graph", measured.no_graph}};
}

}  // namespace tern::gpu_model
