// tern bench: a program's run time, its breakdown, and the distance to the machine's limits.
#include <fmt/format.h>
#include <tern/graph.h>
#include <tern/memory.h>
#include <tern/tern.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "platform/machine.h"
#include "runtime/prepared.h"
#include "runtime/weight_cache/weight_cache.h"
#include "threads/threads.h"
#include "tools/calls.h"
#include "tools/choices.h"
#include "tools/command.h"
#include "tools/gains.h"
#include "tools/inputs.h"
#include "tools/json_text.h"
#include "tools/lost_time.h"
#include "tools/machine.h"
#include "tools/percentile.h"
#include "tools/same_file.h"
#include "tools/scaling/scaling.h"
#include "tools/sessions.h"
#include "tools/terminal.h"
#include "tools/trace/options.h"
#include "tools/widened_text.h"

namespace tern {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArguments {
  std::string model, function;
  DeviceChoice device;
  InputChoice inputs;
  TraceChoice trace;
  std::vector<int> threads = {0}, cores;
  int run_count = 0, nodes = 0, sessions = 0;
  double seconds = 3, bandwidth = 200;
  bool takes_turns = false, json = false, graph = false, lost = false, choices = false;
  GainsChoice gains = GainsChoice::cheap;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct BenchResult {
  double open_ms = 0, prepare_ms = 0, first_run_ms = 0;  ///< milliseconds of each step
  std::vector<double> run_times;                         ///< milliseconds, sorted
  std::vector<NodeTime> nodes;
  std::vector<LimitedNode> limited;  ///< nodes of the CPU; empty for other devices
  std::uint64_t profiled = 0;
  SessionStats stats;
  double memory = 0, memory_before = 0;  ///< private bytes, now and before opening the archive
  MachinePeaks peaks;
  Precision precision = Precision::exported;
  std::vector<WidenedNode> widened;
  Gains gains;

  double percentile(double p) const { return tern::percentile(run_times, p); }
  double mean() const {
    double sum = 0;
    for (const double ms : run_times) sum += ms;
    return sum / static_cast<double>(run_times.size());
  }
};

/// Runs once for each line of standard input, and answers with the milliseconds.
int take_turns(const BenchArguments& a, Session& session, const std::string& function,
               const std::vector<Tensor>& inputs) {
  session.run(function, inputs);
  ChosenTrace trace(a.trace);
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = Clock::now();
    session.run(function, inputs);
    fmt::print("{:.6f}\n", ms_since(start));
    std::fflush(stdout);
  }
  trace.finish();
  return 0;
}

/// Traces separate runs, because tracing disturbs measured runs.
void trace_runs(const BenchArguments& a, const BenchResult& r, const std::function<void()>& run) {
  constexpr int kTraced = 10;
  if (a.trace.path.empty()) return;
  ChosenTrace trace(a.trace);
  double flops = 0, bytes = 0;
  for (const NodeTime& n : r.nodes) {
    flops += n.flops / static_cast<double>(r.profiled);
    bytes += n.bytes / static_cast<double>(r.profiled);
  }
  Trace::describe("peak_flops", fmt::format("{:.0f}", r.peaks.flops));
  Trace::describe("peak_copy_bytes", fmt::format("{:.0f}", r.peaks.copy_bytes));
  Trace::describe("peak_read_bytes", fmt::format("{:.0f}", r.peaks.read_bytes));
  for (int i = 0; i < kTraced; ++i) {
    const auto start = Clock::now();
    run();
    const double seconds = ms_since(start) / 1e3;
    Trace::counter("GFLOP/s", "of the run", flops / seconds / 1e9);
    Trace::counter("GFLOP/s", "peak", r.peaks.flops / 1e9);
    Trace::counter("GB/s", "of the run", bytes / seconds / 1e9);
    Trace::counter("GB/s", "peak", r.peaks.copy_bytes / 1e9);
  }
  trace.finish();
}

void measure(const BenchArguments& a, Session& session, const std::string& function, const std::vector<Tensor>& inputs,
             BenchResult& r) {
  constexpr int kWarmUp = 3, kProfiled = 10;
  Graph graph;
  if (a.graph) {
    graph.capture_begin(session.stream());
    session.run(function, inputs);
    graph.capture_end();
  }
  const auto run = [&] {
    if (!a.graph) {
      session.run(function, inputs);
      return;
    }
    graph.replay();
    session.stream().synchronize();
  };
  for (int i = 0; i < kWarmUp; ++i) run();
  {
    Progress progress("running", static_cast<std::uint64_t>(std::max(0, a.run_count)));
    const auto begin = Clock::now();
    do {
      const auto start = Clock::now();
      run();
      r.run_times.push_back(ms_since(start));
      progress.advance();
    } while (a.run_count > 0 ? r.run_times.size() < static_cast<std::size_t>(a.run_count)
                             : ms_since(begin) < a.seconds * 1000);
  }
  std::ranges::sort(r.run_times);
  r.memory = static_cast<double>(platform::private_bytes());
  r.stats = session.stats();
  session.set_profiling(true);
  for (int i = 0; i < kProfiled; ++i) session.run(function, inputs);
  r.nodes = session.profile();
  r.profiled = kProfiled;
  const ThreadScope scope(Threads::chosen(a.threads.front()));
  r.peaks = measure_peaks();
  session.set_profiling(false);
  trace_runs(a, r, run);
}

struct FamilyTotal {
  std::uint64_t nodes = 0;
  double seconds = 0, flops = 0, bytes = 0;
};

std::string percent_text(double amount, double total) {
  return total > 0 ? fmt::format("{:.0f} %", 100 * amount / total) : "";
}

/// Rate in units of 10^9 per second; empty for a node without work on the device.
std::string giga_rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds / 1e9) : "";
}

/// Null for nodes that run other nodes, and on other devices.
const LimitedNode* limit_of(const BenchResult& r, const NodeTime& n) {
  const auto found = std::ranges::find_if(
      r.limited, [&](const LimitedNode& l) { return l.time.node == n.node && l.time.function == n.function; });
  return found == r.limited.end() ? nullptr : &*found;
}

void print_nodes(const BenchResult& r, int max_rows) {
  const auto run_count = static_cast<double>(r.profiled);
  std::map<std::string, FamilyTotal> ops;
  FamilyTotal total;
  for (const NodeTime& n : r.nodes) {
    for (FamilyTotal* t : {&ops[n.op], &total}) {
      ++t->nodes;
      t->seconds += n.seconds / run_count;
      t->flops += n.flops / run_count;
      t->bytes += n.bytes / run_count;
    }
  }
  std::vector<std::pair<std::string, FamilyTotal>> sorted(ops.begin(), ops.end());
  std::ranges::sort(sorted, std::greater<>(), [](const auto& o) { return o.second.seconds; });
  using Align = TextTable::Align;
  TextTable table({{"op"},
                   {"nodes", Align::right},
                   {"ms", Align::right},
                   {"share", Align::right},
                   {"GFLOP/s", Align::right},
                   {"GB/s", Align::right}});
  const auto row = [&](const std::string& name, const FamilyTotal& t) {
    table.add_row({name, fmt::format("{}", t.nodes), fmt::format("{:.3f}", t.seconds * 1e3),
                   percent_text(t.seconds, total.seconds), giga_rate(t.flops, t.seconds),
                   giga_rate(t.bytes, t.seconds)});
  };
  for (const auto& [name, t] : sorted) row(name, t);
  row("all", total);
  fmt::print("\n{}", table.str());
  if (max_rows <= 0) return;
  TextTable longest({{"node"},
                     {"op"},
                     {"from"},
                     {"ms", Align::right},
                     {"share", Align::right},
                     {"limit", Align::right},
                     {"lost", Align::right},
                     {"limit by"},
                     {"GFLOP/s", Align::right},
                     {"GB/s", Align::right}});
  for (std::size_t i = 0; i < std::min(r.nodes.size(), static_cast<std::size_t>(max_rows)); ++i) {
    const NodeTime& n = r.nodes[i];
    const LimitedNode* limited = limit_of(r, n);
    const auto times = static_cast<double>(std::max<std::uint64_t>(1, n.runs));
    longest.add_row({fmt::format("{}:{}", escape_name(n.function), n.node), n.op,
                     escape_name(n.origin + (n.module.empty() ? "" : " in " + n.module)),
                     fmt::format("{:.3f}", n.seconds / times * 1e3), percent_text(n.seconds / run_count, total.seconds),
                     limited == nullptr ? "" : fmt::format("{:.3f}", limited->limit * run_count / times * 1e3),
                     limited == nullptr ? "" : fmt::format("{:.3f}", limited->lost() * run_count / times * 1e3),
                     limited == nullptr ? "" : std::string(name_of(limited->kind)), giga_rate(n.flops, n.seconds),
                     giga_rate(n.bytes, n.seconds)});
  }
  fmt::print("\n{}", longest.str());
}

void print_bench_text(const BenchArguments& a, const std::string& function, int threads, const BenchResult& r) {
  double flops = 0, bytes = 0;
  for (const NodeTime& n : r.nodes) {
    flops += n.flops / static_cast<double>(r.profiled);
    bytes += n.bytes / static_cast<double>(r.profiled);
  }
  const double seconds = r.percentile(50) / 1e3;
  fmt::print("{}: '{}', {} thread{}, {} runs{}\n", escape_name(a.model), escape_name(function), threads,
             threads == 1 ? "" : "s", r.run_times.size(),
             r.precision == Precision::bfloat16 ? ", products in bfloat16" : "");
  fmt::print("  open, prepare, first run  {:.2f}, {:.2f}, {:.2f} ms\n", r.open_ms, r.prepare_ms, r.first_run_ms);
  fmt::print(
      "  latency                   median {:.3f} ms, from {:.3f}, 90 % in {:.3f}, 99 % in {:.3f}, at most {:.3f}\n",
      r.percentile(50), r.run_times.front(), r.percentile(90), r.percentile(99), r.run_times.back());
  fmt::print("  throughput                {:.2f} runs/s\n", 1000 / r.mean());
  fmt::print("  computes                  {:.3f} GFLOP a run, {:.1f} GFLOP/s: {} of a large matrix product ({:.1f})\n",
             flops / 1e9, flops / seconds / 1e9, percent_text(flops / seconds, r.peaks.flops), r.peaks.flops / 1e9);
  fmt::print("  touches                   {:.3f} GB a run, {:.1f} GB/s: {} of copying ({:.1f}; reading alone {:.1f})\n",
             bytes / 1e9, bytes / seconds / 1e9, percent_text(bytes / seconds, r.peaks.copy_bytes),
             r.peaks.copy_bytes / 1e9, r.peaks.read_bytes / 1e9);
  fmt::print(
      "  memory                    {:.1f} MB private ({:.1f} before the archive was opened), {:.1f} MB of it for "
      "intermediate values, {:.1f} MB state\n",
      r.memory / 1e6, r.memory_before / 1e6, static_cast<double>(r.stats.arena_bytes) / 1e6,
      static_cast<double>(r.stats.state_bytes) / 1e6);
  if (a.device.name != "cpu") {
    const DeviceMemoryStats m = device_memory(a.device.name);
    fmt::print("  memory of {:15} {:.1f} MB in use, at most {:.1f} MB, {:.1f} MB in {} segments\n", a.device.name,
               static_cast<double>(m.used) / 1e6, static_cast<double>(m.peak) / 1e6,
               static_cast<double>(m.reserved) / 1e6, m.segments);
  }
  std::fputs(widened_text(r.widened).c_str(), stdout);
  std::fputs(gains_text(r.gains).c_str(), stdout);
  if (r.stats.partitions > 0) {
    fmt::print("  compiled by the device    {} parts of the program, {} nodes\n", r.stats.partitions,
               r.stats.partitioned);
  }
  double busy = 0;
  std::uint64_t launches = 0;
  for (const NodeTime& n : r.nodes) {
    if (runs_other_nodes(n.op)) continue;  // their nodes are in the list, too
    busy += n.seconds / static_cast<double>(r.profiled);
    launches += n.launches / r.profiled;
  }
  if (launches > 0) {
    fmt::print("  on the device's clock     {:.3f} ms in {} launches and copies of a run, {} of its time\n", busy * 1e3,
               launches, percent_text(busy, seconds));
  }
  print_nodes(r, a.nodes);
  if (a.lost) fmt::print("\n{}", lost_text(lost_by_class(r.limited)));
}

void print_bench_json(const BenchArguments& a, const std::string& function, int threads, const BenchResult& r) {
  using Json = nlohmann::ordered_json;
  Json document = {{"model", a.model},
                   {"function", function},
                   {"threads", threads},
                   {"precision", name_of(r.precision)},
                   {"runs", r.run_times.size()},
                   {"open_ms", json_rounded(r.open_ms, 4)},
                   {"prepare_ms", json_rounded(r.prepare_ms, 4)},
                   {"first_run_ms", json_rounded(r.first_run_ms, 4)},
                   {"latency_ms",
                    {{"min", json_rounded(r.run_times.front(), 4)},
                     {"p50", json_rounded(r.percentile(50), 4)},
                     {"p90", json_rounded(r.percentile(90), 4)},
                     {"p99", json_rounded(r.percentile(99), 4)},
                     {"max", json_rounded(r.run_times.back(), 4)},
                     {"mean", json_rounded(r.mean(), 4)}}},
                   {"peaks",
                    {{"flops", json_rounded(r.peaks.flops, 0)},
                     {"copy_bytes", json_rounded(r.peaks.copy_bytes, 0)},
                     {"read_bytes", json_rounded(r.peaks.read_bytes, 0)},
                     {"cached_copy_bytes", json_rounded(r.peaks.cached_bytes, 0)},
                     {"float64", json_rounded(r.peaks.f64, 0)},
                     {"bfloat16", json_rounded(r.peaks.bf16, 0)},
                     {"int8", json_rounded(r.peaks.i8, 0)},
                     {"call_us", json_rounded(r.peaks.call_seconds * 1e6, 3)}}},
                   {"memory",
                    {{"private", json_rounded(r.memory, 0)},
                     {"before", json_rounded(r.memory_before, 0)},
                     {"arena", r.stats.arena_bytes},
                     {"state", r.stats.state_bytes}}},
                   {"widened", widened_json(r.widened)},
                   {"gains", gains_json(r.gains)},
                   {"nodes", Json::array()}};
  const auto run_count = static_cast<double>(r.profiled);
  for (const NodeTime& n : r.nodes) {
    document["nodes"].push_back({{"function", n.function},
                                 {"node", n.node},
                                 {"op", n.op},
                                 {"origin", n.origin},
                                 {"module", n.module},
                                 {"ms", json_rounded(n.seconds / run_count * 1e3, 5)},
                                 {"flops", json_rounded(n.flops / run_count, 0)},
                                 {"bytes", json_rounded(n.bytes / run_count, 0)},
                                 {"launches", n.launches / r.profiled}});
    if (const LimitedNode* limited = limit_of(r, n)) {
      document["nodes"].back()["algorithm"] = limited->algorithm;
      document["nodes"].back()["limit_ms"] = json_rounded(limited->limit * 1e3, 5);
      document["nodes"].back()["limit_by"] = name_of(limited->kind);
      document["nodes"].back()["lost_ms"] = json_rounded(limited->lost() * 1e3, 5);
    }
  }
  if (a.lost) {
    document["lost"] = Json::array();
    for (const LostTime& l : lost_by_class(r.limited)) {
      document["lost"].push_back({{"op", l.op},
                                  {"algorithm", l.algorithm},
                                  {"size", l.size},
                                  {"nodes", l.nodes},
                                  {"ms", json_rounded(l.seconds * 1e3, 5)},
                                  {"limit_ms", json_rounded(l.limit * 1e3, 5)},
                                  {"lost_ms", json_rounded(l.lost * 1e3, 5)}});
    }
  }
  fmt::print("{}\n", json_text(document));
}

InputChoice inputs_of(const BenchArguments& a) {
  InputChoice choice = a.inputs;
  choice.random = choice.random || choice.files.empty();
  return choice;
}

PrepareOptions bench_prepare_options(const BenchArguments& a) {
  PrepareOptions options;
  options.threads = a.threads.front();
  options.device = a.device.name;
  options.reproducible = a.device.reproducible;
  options.precision = precision_of(a.device);
  options.float32_nodes = a.device.kept_patterns;
  options.copy_weights = a.device.copy_weights;
  options.native_code = a.device.native_code;
  return options;
}

/// Fills the cache of packed weights (PrepareOptions::weight_cache) before measuring: later runs find a filled cache,
/// and writing the cache would disturb measured runs.
void fill_weight_cache(const BenchArguments& a) {
  const Model model = open_model(a.model);
  const PreparedModel prepare_ms = model.prepare(bench_prepare_options(a));
  WeightCache* cache = prepare_ms.impl()->cache.get();
  if (cache == nullptr || !cache->problem().empty()) return;
  const std::vector<FunctionInfo>& functions = model.functions();
  const FunctionInfo& f = choose_function(functions, a.function);
  Session session(prepare_ms);
  session.run(f.name, one_call(model, f.name, inputs_of(a)));
  cache->wait();
}

/// Measures the algorithms of each node.
int run_choices(const BenchArguments& a) {
  if (a.device.name != "cpu" || a.device.reproducible || a.sessions > 0 || a.takes_turns || a.graph || a.lost ||
      !a.trace.path.empty() || a.threads.size() > 1 || !a.cores.empty())
    fail(ErrorCode::invalid_argument,
         "--choices compares the algorithms of the CPU in runs of its own: leave out --device, --reproducible, "
         "--sessions, --turns, --graph, --lost, --trace and --cores, and give --threads one number");
  const Model model = open_model(a.model);
  const FunctionInfo& f = choose_function(model.functions(), a.function);
  const ThreadScope scope(Threads::chosen(a.threads.front()));
  const ChoiceRequest request{f.name, one_call(model, f.name, inputs_of(a)), precision_of(a.device), a.seconds};
  const std::vector<NodeChoice> choices = measure_choices(model, request);
  std::fputs((a.json ? choices_json(choices) + "\n" : choices_text(choices)).c_str(), stdout);
  return 0;
}

/// Runs with several numbers of threads are measured together.
bool compares_threads(const BenchArguments& a) {
  return a.threads.size() > 1 || !a.cores.empty();
}

int run_scaling(const BenchArguments& a) {
  if (a.graph || a.takes_turns || a.device.name != "cpu")
    fail(
        ErrorCode::invalid_argument,
        "several numbers of threads are compared on the CPU, without a graph: leave out --graph, --turns and --device, "
        "or give --threads one number and no --cores");
  const Model model = open_model(a.model);
  ScalingRequest request;
  request.model = a.model;
  request.function = choose_function(model.functions(), a.function).name;
  request.inputs = one_call(model, request.function, inputs_of(a));
  request.options = bench_prepare_options(a);
  for (const int threads : a.threads) {
    // --cores without a list compares with a single thread.
    if (a.threads.size() > 1 || threads > 0) request.threads.push_back(Threads::chosen(threads).count());
  }
  request.cores = a.cores;
  request.bytes_per_second = a.bandwidth * 1e9;
  request.seconds = a.seconds;
  request.turn_count = static_cast<std::uint64_t>(a.run_count);
  request.seed = a.inputs.seed;
  const ScalingMeasurement scaling = measure_scaling(model, request);
  if (a.json) {
    print_scaling_json(request, scaling);
  } else {
    print_scaling(request, scaling, a.nodes);
  }
  return 0;
}

int run_sessions(const BenchArguments& a) {
  if (a.graph || a.takes_turns || a.run_count > 0 || a.nodes > 0 || compares_threads(a))
    fail(ErrorCode::invalid_argument,
         "sessions that run at once are compared with one session alone: leave out --graph, --turns, --runs, "
         "--nodes and --cores, and give --threads one number, of each session");
  const Model model = open_model(a.model);
  SessionsRequest request;
  request.function = choose_function(model.functions(), a.function).name;
  request.inputs = one_call(model, request.function, inputs_of(a));
  request.options = bench_prepare_options(a);
  request.options.threads = std::max(1, a.threads.front());
  request.sessions = a.sessions;
  request.seconds = a.seconds;
  request.seed = a.inputs.seed;
  const std::vector<SessionsRate> rates = measure_sessions(model, request);
  (a.json ? print_sessions_json : print_sessions)(a.model, request.function, rates);
  return 0;
}

int run_bench(const BenchArguments& a) {
  if (!a.trace.path.empty() && (a.sessions > 0 || compares_threads(a)))
    fail(ErrorCode::invalid_argument, "--trace records one number of threads and one session: leave out the others");
  if (a.lost && (a.device.name != "cpu" || a.sessions > 0 || a.takes_turns || compares_threads(a)))
    fail(ErrorCode::invalid_argument,
         "--lost compares the nodes of one session with the limits of the CPU: leave out --device, --sessions, --turns "
         "and --cores, and give --threads one number");
  refuse_to_replace("--trace", a.trace.path, {a.model});
  if (a.choices) return run_choices(a);
  fill_weight_cache(a);
  if (a.sessions > 0) return run_sessions(a);
  if (compares_threads(a)) return run_scaling(a);
  BenchResult r;
  r.memory_before = static_cast<double>(platform::private_bytes());
  auto start = Clock::now();
  const Model model = open_model(a.model);
  r.open_ms = ms_since(start);
  const std::vector<FunctionInfo>& functions = model.functions();
  const FunctionInfo& f = choose_function(functions, a.function);
  const InputChoice choice = inputs_of(a);
  const std::vector<Tensor> inputs = one_call(model, f.name, choice);
  start = Clock::now();
  const PreparedModel prepare_ms = model.prepare(bench_prepare_options(a));
  Session session(prepare_ms, Stream(a.device.name, a.device.share));
  r.prepare_ms = ms_since(start);
  r.precision = prepare_ms.precision();
  session.set_seed(choice.seed);
  if (a.takes_turns) return take_turns(a, session, f.name, inputs);
  start = Clock::now();
  session.run(f.name, inputs);
  r.first_run_ms = ms_since(start);
  measure(a, session, f.name, inputs, r);
  r.widened = widened_by_plans(*prepare_ms.impl());
  if (a.device.name == "cpu")
    r.limited = limited_nodes(r.nodes, r.profiled, chosen_kernels(*prepare_ms.impl()), r.peaks);
  Side exported_side{model.program(), static_cast<std::uint32_t>(model.program()->find_entry(f.name)),
                     bench_prepare_options(a), choice.seed, "exported"};
  exported_side.program = keeping(exported_side.program, a.device.kept_patterns);
  exported_side.options.float32_nodes.clear();
  r.gains = measure_gains(exported_side, a.graph ? GainsChoice::none : a.gains, inputs, r.percentile(50) / 1e3);
  const int threads = Threads::chosen(a.threads.front()).count();
  (a.json ? print_bench_json : print_bench_text)(a, f.name, threads, r);
  return 0;
}

}  // namespace

void add_bench_command(Command app, CommandLine& line) {
  auto a = std::make_shared<BenchArguments>();
  const Command c = app.add_subcommand("bench", "Measure how fast a function runs, and which nodes take the time");
  c.add_option("model", a->model, "A .tern archive, or a .pt2 file").required();
  add_input_options(c, a->inputs);
  c.add_option("-f,--function", a->function, "The function to run, if there are several").type_name("NAME");
  require_range(
      c.add_option("--threads", a->threads,
                   "Threads of a run; 0: as many as OpenMP reports (all cores). A list such as 1,2,4 is measured "
                   "in turns, and shows how the program scales and where the threads spend their time")
          .delimiter(',')
          .default_str("0"),
      bounds::kThreads);
  require_range(
      c.add_option("--cores", a->cores,
                   "Simulate these numbers of cores, such as 8,32: the parts of each loop run one after the other, "
                   "and each is timed")
          .delimiter(','),
      bounds::kCores);
  require_range(
      c.add_option("--sessions", a->sessions,
                   "Run this many sessions at once, each with --threads (1), in turns with one session that has "
                   "all their threads, and compare their runs per second"),
      bounds::kSessions);
  require_range(c.add_option("--bandwidth", a->bandwidth, "Memory bandwidth of all simulated cores together, in GB/s")
                    .capture_default_str(),
                bounds::kBandwidth);
  add_device_options(c, a->device);
  add_share_options(c, a->device);
  add_copy_weights_option(c, a->device);
  add_precision_option(c, a->device);
  require_range(c.add_option("--seconds", a->seconds, "Measure for this long").capture_default_str(), bounds::kSeconds);
  require_range(c.add_option("--runs", a->run_count,
                             "Measure this many runs (or turns, for a list of threads) instead of a time"),
                bounds::kRunCount);
  require_range(c.add_option("--nodes", a->nodes, "List this many of the slowest nodes"), bounds::kListed);
  c.add_flag("--lost", a->lost,
             "Sum the time that nodes take beyond the machine's limits, by op, algorithm and bytes of a node");
  c.add_flag("--choices", a->choices,
             "Measure each algorithm able to compute a node, beside its estimate, and list nodes whose chosen "
             "algorithm takes more than 1.1 times the best");
  add_gains_option(c, a->gains);
  c.add_flag("--graph", a->graph, "Measure replays of a captured graph; nodes are measured without it");
  c.add_flag("--turns", a->takes_turns,
             "Read lines from standard input; run once for each and answer with the milliseconds, for a benchmark of "
             "several programs in turns");
  add_trace_options(c, a->trace);
  c.add_flag("--json", a->json, "Print all figures as JSON");
  c.footer(
      "Examples:\n  tern bench model.tern --random --size s0=4 --threads 2 --nodes 10\n"
      "  tern bench model.tern --threads 1 --lost\n"
      "  tern bench model.tern --threads 1 --choices\n"
      "  tern bench model.tern --threads 1,2,4 --cores 8,32 --nodes 10\n"
      "  tern bench model.tern --sessions 4 --threads 1\n"
      "  tern bench model.tern --json > figures.json\n\n"
      "Inputs that no file gives are random. A node's GB/s count each operand and result once; many of them are in a "
      "cache. A node's limit is the longest of its least operations at the peak of its type, its bytes at the copy "
      "rate of buffers as large, and an empty loop on all threads. One run goes first and fills the cache of packed "
      "weights (docs/api.md); TERN_WEIGHT_CACHE=off disables "
      "the cache. --trace records ten runs after the measured ones, or all runs of --turns.");
  c.callback([a, &line] { line.status = run_bench(*a); });
}

}  // namespace tern
