// Measures in turns, and evaluates the records of each node.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "runtime/prepared.h"
#include "schema/op_record.h"
#include "threads/parallel.h"
#include "tools/scaling/scaling.h"
#include "tools/scaling/simulate.h"
#include "tools/terminal.h"

namespace tern {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // function and node
constexpr Key kBetweenNodes{UINT32_MAX, UINT32_MAX};  // time outside of all nodes

/// The runs of each node within a run of the program.
using Record = std::map<Key, std::vector<NodeLoops>>;

double wall(std::span<const NodeLoops> node_runs) {
  double sum = 0;
  for (const NodeLoops& n : node_runs) sum += n.end - n.begin;
  return sum;
}

/// The session of a number of threads, and its figures.
struct Lane {
  int threads;
  bool simulated;
  std::unique_ptr<Session> session;
  std::vector<double> ms;
  std::vector<Record> records;
};

Record recorded_run(Session& session, const ScalingRequest& request, LoopRecorder::Mode mode, const Program& program) {
  LoopRecorder recorder(mode);
  const RecorderScope scope(&recorder);
  session.set_profiling(true);
  const double begin = LoopRecorder::now();
  session.run(request.function, request.inputs);
  const double end = LoopRecorder::now();
  session.set_profiling(false);
  Record record;
  double in_nodes = 0;
  for (NodeLoops& n : recorder.take_nodes()) {
    // Skips the control node: the nodes of its bodies are in the list, too.
    if (has_trait(program.functions[n.function].nodes[n.node].op, Trait::control)) continue;
    in_nodes += n.end - n.begin;
    record[{n.function, n.node}].push_back(std::move(n));
  }
  record[kBetweenNodes].push_back({kBetweenNodes.first, kBetweenNodes.second, 0, end - begin - in_nodes, {}});
  return record;
}

void take_turn(Lane& lane, const ScalingRequest& request, const Program& program) {
  constexpr int kRunCount = 3;
  if (lane.simulated) {  // the first run warms up
    recorded_run(*lane.session, request, LoopRecorder::Mode::serial, program);
    lane.records.push_back(recorded_run(*lane.session, request, LoopRecorder::Mode::serial, program));
    return;
  }
  for (int i = 0; i <= kRunCount; ++i) {
    const double begin = LoopRecorder::now();
    lane.session->run(request.function, request.inputs);
    if (i > 0) lane.ms.push_back((LoopRecorder::now() - begin) * 1e3);
  }
  lane.records.push_back(recorded_run(*lane.session, request, LoopRecorder::Mode::together, program));
}

/// Bytes of states read whole by a node; half for states read rounded to bfloat16.
double weight_bytes(const Program& program, const Key& key, Precision precision) {
  if (key == kBetweenNodes) return 0;
  const Function& f = program.functions[key.first];
  const Node& node = f.nodes[key.second];
  if (has_trait(node.op, Trait::reads_part)) return 0;
  double bytes = 0;
  for (const FunctionInput& input : f.inputs) {
    if (input.kind != FunctionInput::Kind::state || std::ranges::find(node.inputs, input.value) == node.inputs.end())
      continue;
    const TensorType& type = program.states[input.state].type;
    double elements = 1;
    for (const Dim& d : type.shape) elements *= static_cast<double>(d.is_const() ? d.value() : 1);
    bytes += elements * static_cast<double>(element_size(type.dtype));
  }
  return precision == Precision::bfloat16 ? bytes / 2 : bytes;
}

/// The middle half by time of all recorded runs of a node: leaves out moments of cores taken by the host.
std::vector<const std::vector<NodeLoops>*> median_runs(const std::vector<Record>& records, const Key& key) {
  std::vector<const std::vector<NodeLoops>*> node_runs;
  for (const Record& r : records) {
    if (const auto found = r.find(key); found != r.end()) node_runs.push_back(&found->second);
  }
  std::ranges::sort(node_runs, std::less<>(), [](const auto* r) { return wall(*r); });
  const auto cut = static_cast<std::ptrdiff_t>(node_runs.size() / 4);
  return {node_runs.begin() + cut, node_runs.end() - cut};
}

double mean_wall(const std::vector<Record>& records, const Key& key) {
  const auto node_runs = median_runs(records, key);
  double sum = 0;
  for (const auto* r : node_runs) sum += wall(*r);
  return node_runs.empty() ? 0 : sum / static_cast<double>(node_runs.size());
}

NodeScaling node_scaling(const Program& program, const Key& key, const Lane& lane, double useful_seconds) {
  NodeScaling n;
  if (key != kBetweenNodes) {
    const Function& f = program.functions[key.first];
    const Node& node = f.nodes[key.second];
    n.name = escape_name(f.name) + ":" + std::to_string(key.second);
    n.op = op_name(node.op);
    if (node.origin >= 0) {
      const Origin& o = program.origins[static_cast<std::size_t>(node.origin)];
      n.origin = escape_name(o.op + (o.module.empty() ? "" : " in " + o.module));
    }
  }
  const auto node_runs = median_runs(lane.records, key);
  for (const auto* r : node_runs) n.time += account(*r, lane.threads, useful_seconds);
  n.time = n.time * (1 / static_cast<double>(std::max<std::size_t>(1, node_runs.size())));
  double longest = -1;
  for (const NodeLoops& run : node_runs.empty() ? std::vector<NodeLoops>{} : *node_runs.front()) {
    n.loops += run.loops.size();
    for (const LoopTime& l : run.loops) {
      if (l.end - l.begin <= longest) continue;
      longest = l.end - l.begin;
      n.max_loop_parts = l.chunks.size();
    }
  }
  return n;
}

ScalingPoint point_of(const Program& program, const Lane& lane, const Lane& one_thread) {
  ScalingPoint p;
  p.threads = lane.threads;
  p.simulated = lane.simulated;
  p.ms = lane.ms;
  std::ranges::sort(p.ms);
  for (const auto& [key, node_runs] : lane.records.front()) {
    const NodeScaling n = node_scaling(program, key, lane, mean_wall(one_thread.records, key));
    p.total += n.time;
    if (key == kBetweenNodes) {
      p.between_nodes = n.time;
    } else {
      p.nodes.push_back(n);
    }
  }
  std::ranges::sort(p.nodes, std::greater<>(), [](const NodeScaling& n) { return n.time.total() - n.time.useful; });
  return p;
}

/// Converts sequential records into the simulated times of the socket.
void simulate(Lane& lane, const Program& program, const ScalingRequest& request, Precision precision, double barrier) {
  const double hops = std::ceil(std::log2(std::max(2, lane.threads)));
  const SimulatedSocket socket{lane.threads, barrier * hops, request.bytes_per_second};
  for (Record& record : lane.records) {
    double ms = 0;
    for (auto& [key, node_runs] : record) {
      for (NodeLoops& run : node_runs)
        run =
            tern::simulate(run, socket, weight_bytes(program, key, precision) / static_cast<double>(node_runs.size()));
      ms += wall(node_runs) * 1e3;
    }
    lane.ms.push_back(ms);
  }
}

}  // namespace

double measure_barrier() {
  constexpr int kLoops = 2001;
  const ThreadScope two_threads{Threads(2)};
  std::vector<double> times;
  for (int i = 0; i < kLoops; ++i) {
    const double begin = LoopRecorder::now();
    parallel_for(2, 1, [](std::int64_t, std::int64_t) {});
    times.push_back(LoopRecorder::now() - begin);
  }
  std::ranges::nth_element(times, times.begin() + kLoops / 2);
  return times[kLoops / 2];
}

ScalingMeasurement measure_scaling(const Model& model, const ScalingRequest& request) {
  constexpr std::uint64_t kMinTurns = 3;
  std::vector<Lane> lanes;
  std::shared_ptr<const Program> program;
  Precision precision = Precision::exported;
  const auto add = [&](int threads, bool simulated) {
    PrepareOptions options = request.options;
    options.threads = threads;
    const PreparedModel prepared = model.prepare(options);
    program = prepared.impl()->program;
    precision = prepared.precision();
    lanes.push_back({threads, simulated, std::make_unique<Session>(prepared), {}, {}});
    lanes.back().session->set_seed(request.seed);
  };
  add(1, false);
  for (const int threads : request.threads) {
    if (threads != 1) add(threads, false);
  }
  for (const int cores : request.cores) add(cores, true);
  ScalingMeasurement scaling;
  scaling.bfloat16 = precision == Precision::bfloat16;
  Progress progress("turns", request.turn_count);
  for (Lane& lane : lanes) {  // plans, packs
    take_turn(lane, request, *program);
    lane.ms.clear();
    lane.records.clear();
  }
  const double begin = LoopRecorder::now();
  do {
    for (Lane& lane : lanes) take_turn(lane, request, *program);
    ++scaling.turn_count;
    progress.advance();
  } while (request.turn_count > 0 ? scaling.turn_count < request.turn_count
                                  : scaling.turn_count < kMinTurns || LoopRecorder::now() - begin < request.seconds);
  scaling.barrier = measure_barrier();
  for (Lane& lane : lanes) {
    if (lane.simulated) simulate(lane, *program, request, precision, scaling.barrier);
    scaling.points.push_back(point_of(*program, lane, lanes.front()));
  }
  return scaling;
}

}  // namespace tern
