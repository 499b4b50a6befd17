#include "tests/gpu/model/measured.h"

#include <tern/error.h>
#include <tern/graph.h>

#include <algorithm>
#include <map>

#include "runtime/devices/device.h"
#include "runtime/prepared.h"

namespace tern::gpu_model {
namespace {

CountedLaunch copied(const tern_emulator_launch& from) {
  CountedLaunch to;
  to.kernel = from.kernel;
  to.ptx = from.text;
  std::copy_n(from.grid, 3, to.grid);
  std::copy_n(from.block, 3, to.block);
  to.static_bytes = from.static_bytes;
  to.dynamic_bytes = from.dynamic_bytes;
  to.in_graph = from.in_graph != 0;
  to.counts = *from.counts;
  return to;
}

// Written bytes are also read.
NodeCall between_nodes(const CountedLaunch& launch) {
  NodeCall call;
  call.op = "copy";
  call.bytes = 2 * launch.counts.stores.memory_bytes;
  return call;
}

void add_launches(Measured& measured, std::span<const tern_emulator_launch> launches,
                  const std::vector<NodeCall>& calls) {
  std::map<std::uint64_t, std::size_t> places;  // index of nodes, by tag
  for (const tern_emulator_launch& one : launches) {
    CountedLaunch launch = copied(one);
    ++measured.launches;
    measured.outside_graphs += !launch.in_graph;
    const bool is_new = one.tag == 0 || !places.contains(one.tag);
    if (is_new) {
      places[one.tag] = measured.nodes.size();
      measured.nodes.push_back({one.tag == 0 ? between_nodes(launch) : calls.at(one.tag - 1), {}});
    }
    measured.nodes[places[one.tag]].launches.push_back(std::move(launch));
  }
  // Nodes without launches run in vendors' libraries, or are empty.
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!places.contains(i + 1)) measured.nodes.push_back({calls[i], {}});
  }
}

}  // namespace

Measured measure(const std::shared_ptr<const Program>& program, const std::string& function,
                 const std::vector<Tensor>& inputs, const Emulator& emulator) {
  PrepareOptions options;
  options.device = "cuda";
  options.threads = 1;
  options.weight_cache = "off";
  CountedKernels kernels(Device::open(options.device).kernels(options.reproducible), emulator);
  PreparationSettings settings;
  settings.kernels = &kernels.table();
  const PreparedModel prepared(prepare_program(program, options, settings));
  Session session(prepared);
  Measured measured;
  Graph graph;
  tern_emulator_figures before{}, after{};
  const auto start = [&] {
    session.stream().synchronize();
    emulator.take();  // kernel tables, filled only once
    before = emulator.figures();
  };
  try {
    graph.capture_begin(session.stream());
    session.run(function, inputs);
    graph.capture_end();
    measured.graphs = graph.device_graphs();
    if (measured.graphs == 0) kernels.calls.clear();  // a replay runs the nodes again
    start();
    graph.replay();
    session.stream().synchronize();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    measured.no_graph = error.what();
    graph.reset();
    start();
    kernels.calls.clear();
    session.run(function, inputs);
  }
  add_launches(measured, emulator.take(), kernels.calls);
  after = emulator.figures();
  measured.copied_bytes = static_cast<double>(after.bytes_over - before.bytes_over);
  return measured;
}

}  // namespace tern::gpu_model
