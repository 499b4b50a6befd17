#include "runtime/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "kernels/cpu/processor.h"
#include "kernels/custom/library.h"
#include "kernels/portable/launches.h"
#include "kernels/reproducible.h"
#include "runtime/definitions.h"
#include "runtime/devices/archived_kernels.h"
#include "runtime/devices/constants.h"
#include "runtime/devices/device.h"
#include "runtime/devices/override.h"
#include "runtime/fuse/fuse.h"
#include "runtime/plan/plans.h"
#include "runtime/plan/shared_weights.h"
#include "runtime/weight_cache/weight_cache.h"
#include "schema/forms.h"
#include "schema/op_record.h"

namespace tern {
namespace {

void check_kernels(const Program& program, const KernelTable& kernels) {
  std::map<std::string, int> missing;
  bool provided = true;
  for (const Function& f : program.functions) {
    for (std::size_t i = 0; i < f.nodes.size(); ++i) {
      const Node& n = f.nodes[i];
      const std::int64_t carried = n.integer(AttrKey::carried);
      for (std::int64_t k = 0; k < carried; ++k) {  // their memory carries them from one iteration to the next
        if (n.outputs.at(static_cast<std::size_t>(k)) == kNoValue)
          fail(ErrorCode::bad_file, describe(program, f, i) + ": carried values of a loop must all be results");
      }
      if (is_view(n.op) || has_trait(n.op, Trait::host)) continue;
      const bool foreign = n.op == Op::custom && find_custom_op(n.text(AttrKey::name)) == nullptr;
      if (!foreign && kernels.kernels[static_cast<std::size_t>(n.op)].run != nullptr) continue;
      provided = provided && !foreign;
      std::string name(op_name(n.op));
      if (n.op == Op::custom) name += fmt::format(" '{}'", n.text(AttrKey::name));
      ++missing[name];
    }
  }
  if (missing.empty()) return;
  std::string list;
  for (const auto& [name, count] : missing)
    list += fmt::format("{}{} ({} nodes)", list.empty() ? "" : ", ", name, count);
  if (!provided) list += "; load the library that provides it: --ops LIBRARY, TERN_OP_PATH or tern::load_ops()";
  fail(ErrorCode::unsupported, "this device has no kernel for: " + list);
}

/// Marks the symbols that an expression depends on.
class SymbolMarker {
 public:
  explicit SymbolMarker(const ExprPool& pool) : pool_(pool), seen_(pool.nodes().size()), used_(pool.symbols().size()) {}
  void mark(Dim d) {
    if (d.is_const()) return;
    stack_.push_back(d.index());
    while (!stack_.empty()) {
      const std::uint32_t i = stack_.back();
      stack_.pop_back();
      if (seen_[i]) continue;
      seen_[i] = true;
      const ExprNode& n = pool_.nodes()[i];
      if (n.op == ExprOp::symbol) used_[static_cast<std::size_t>(n.value)] = true;
      const int count = operand_count(n.op);
      if (count > 0) stack_.push_back(n.a);
      if (count > 1) stack_.push_back(n.b);
      if (count > 2) stack_.push_back(n.c);
    }
  }
  std::vector<std::uint32_t> symbols() const {
    std::vector<std::uint32_t> s;
    for (std::uint32_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) s.push_back(i);
    }
    return s;
  }

 private:
  const ExprPool& pool_;
  std::vector<bool> seen_, used_;
  std::vector<std::uint32_t> stack_;
};

/// Which values are the next content of a state or an input, or a step towards it: walks from each value written back,
/// through ops that can overwrite their input.
void find_written(const Function& f, const KernelTable& kernels, FunctionFacts& facts) {
  facts.written_to.assign(f.values.size(), -1);
  std::vector<std::pair<const Node*, std::size_t>> producer(f.values.size(), {nullptr, 0});
  for (const Node& n : f.nodes) {
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      if (n.outputs[k] != kNoValue) producer[static_cast<std::size_t>(n.outputs[k])] = {&n, k};
    }
  }
  for (std::size_t w = 0; w < f.writebacks.size(); ++w) {
    ValueId v = f.writebacks[w].value;
    while (producer[static_cast<std::size_t>(v)].first != nullptr) {
      const auto [n, output] = producer[static_cast<std::size_t>(v)];
      const Kernel& k = kernels.kernels[static_cast<std::size_t>(n->op)];
      const int from = passes_memory(*n)          ? 0
                       : k.in_place_of != nullptr ? k.in_place_of(*n, output)
                       : output == 0              ? k.in_place
                                                  : -1;
      if (from < 0 || static_cast<std::size_t>(from) >= n->inputs.size() ||
          n->inputs[static_cast<std::size_t>(from)] == kNoValue)
        break;
      facts.written_to[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(w);
      v = n->inputs[static_cast<std::size_t>(from)];
    }
  }
}

/// Finds the values whose only reader is a permutation.
std::vector<std::int32_t> find_permuted(const Function& f) {
  constexpr std::int32_t kNobody = -1, kOthers = -2;
  std::vector<std::int32_t> reader(f.values.size(), kNobody);
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    for (ValueId v : f.nodes[i].inputs) {
      if (v == kNoValue) continue;
      std::int32_t& r = reader[static_cast<std::size_t>(v)];
      r = r == kNobody && f.nodes[i].op == Op::permute ? static_cast<std::int32_t>(i) : kOthers;
    }
  }
  for (const FunctionOutput& o : f.outputs) {
    if (o.value != kNoValue) reader[static_cast<std::size_t>(o.value)] = kOthers;
  }
  for (const WriteBack& w : f.writebacks) reader[static_cast<std::size_t>(w.value)] = kOthers;
  std::ranges::replace(reader, kOthers, kNobody);
  return reader;
}

FunctionFacts analyse(const Program& program, const Function& f, const KernelTable& kernels) {
  FunctionFacts facts;
  facts.last_use.assign(f.values.size(), kNeverUsed);
  facts.section_of.assign(f.values.size(), 0);
  SymbolMarker marker(program.pool);
  for (const Value& v : f.values) {
    for (Dim d : v.type.shape) marker.mark(d);
  }
  std::uint32_t begin = 0;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    const Node& n = f.nodes[i];
    for (ValueId v : n.inputs) {
      if (v != kNoValue) facts.last_use[static_cast<std::size_t>(v)] = i + 1;
    }
    for (ValueId v : n.outputs) {
      if (v != kNoValue)
        facts.section_of[static_cast<std::size_t>(v)] = static_cast<std::uint32_t>(facts.sections.size());
    }
    for (const Attr& a : n.attrs) {
      if (const auto* dims = std::get_if<Dims>(&a.data)) {
        for (Dim d : *dims) marker.mark(d);
      }
    }
    if (!n.dims(AttrKey::symbols).empty()) {
      facts.sections.push_back({begin, i + 1});
      begin = i + 1;
    }
  }
  facts.sections.push_back({begin, static_cast<std::uint32_t>(f.nodes.size())});
  for (const FunctionOutput& o : f.outputs) {
    if (o.value != kNoValue) facts.last_use[static_cast<std::size_t>(o.value)] = kUsedToTheEnd;
  }
  for (const WriteBack& w : f.writebacks) facts.last_use[static_cast<std::size_t>(w.value)] = kUsedToTheEnd;
  facts.symbols = marker.symbols();
  facts.first_of_form = first_of_form(f);
  facts.permuted_by = find_permuted(f);
  find_written(f, kernels, facts);
  return facts;
}

}  // namespace

std::string describe(const PreparedProgram& prepared, std::uint32_t function, std::uint32_t node) {
  const Program& program = *prepared.program;
  const std::vector<std::uint32_t>& numbers = prepared.facts[function].numbers;
  return describe(program, program.functions[function], node < numbers.size() ? numbers[node] : node);
}

bool passes_memory(const Node& node) {
  return node.op == Op::reshape;
}

namespace {

/// The way, where the node's kernel has it.
Way way_of_node(const PreparedProgram& prepared, const Node& node, Way way) {
  const std::span<const Way> ways = prepared.kernels->kernels[static_cast<std::size_t>(node.op)].ways;
  return std::ranges::find(ways, way) != ways.end() ? way : Way::none;
}

/// Finds nodes that run by their exported numbers.
class RunningNodes {
 public:
  explicit RunningNodes(const PreparedProgram& prepared) : prepared_(prepared) {
    for (std::size_t f = 0; f < prepared.functions.size(); ++f) {
      const std::vector<std::uint32_t>& numbers = prepared.facts[f].numbers;
      auto& of_number = nodes_.emplace_back();
      for (std::uint32_t i = 0; i < numbers.size(); ++i) {
        if (of_number.size() <= numbers[i]) of_number.resize(numbers[i] + std::size_t{1}, kNone);
        of_number[numbers[i]] = i;
      }
    }
  }

  NodeWays ways(const Tuning& tuning) const {
    NodeWays ways;
    for (const Tuning::Choice& c : tuning.choices) {
      if (c.function >= nodes_.size() || c.node >= nodes_[c.function].size()) continue;
      const std::uint32_t i = nodes_[c.function][c.node];
      if (i == kNone) continue;  // it was merged into another
      ways[{c.function, i}] = way_of_node(prepared_, prepared_.functions[c.function].nodes[i], way_of(c.way));
    }
    return ways;
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  const PreparedProgram& prepared_;
  std::vector<std::vector<std::uint32_t>> nodes_;
};

/// As the archive has it for this processor. TERN_WAY in the environment is the way for all nodes, for tests.
void choose_ways(PreparedProgram& prepared, const Program& program) {
  if (const char* forced = std::getenv("TERN_WAY")) {
    NodeWays ways;
    for (std::uint32_t f = 0; f < prepared.functions.size(); ++f) {
      const std::vector<Node>& nodes = prepared.functions[f].nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) ways[{f, i}] = way_of_node(prepared, nodes[i], way_of(forced));
    }
    prepared.ways = {{kAnyThreads, std::move(ways)}};
  } else if (!program.tunings.empty()) {
    const RunningNodes nodes(prepared);
    for (const Tuning& t : program.tunings) {
      if (t.threads > 0 && t.processor == cpu::processor()) prepared.ways[static_cast<int>(t.threads)] = nodes.ways(t);
    }
  }
}

}  // namespace

Way PreparedProgram::way(std::uint32_t function, std::uint32_t node, Threads threads) const {
  auto of_threads = ways.find(threads.count());
  if (of_threads == ways.end()) of_threads = ways.find(kAnyThreads);
  if (of_threads == ways.end()) return Way::none;
  const auto found = of_threads->second.find({function, node});
  return found == of_threads->second.end() ? Way::none : found->second;
}

std::shared_ptr<const PreparedProgram> prepare_program(std::shared_ptr<const Program> program,
                                                       const PrepareOptions& options,
                                                       const PreparationSettings& settings) {
  if (!(options.max_seconds >= 0) || options.max_iterations < 0)
    fail(ErrorCode::invalid_argument, "PrepareOptions: max_seconds and max_iterations must not be negative");
  auto prepared = std::make_shared<PreparedProgram>();
  prepared->options = options;
  prepared->listeners = settings.listeners;
  prepared->weights = std::make_shared<SharedWeights>();
  prepared->plans = std::make_shared<Plans>(static_cast<std::size_t>(std::max(1, options.cached_plans)));
  Device* device = settings.device;
  if (device == nullptr && !options.device.empty() && options.device != "cpu") device = &Device::open(options.device);
  if (device != nullptr) {
    prepared->device = device;
    prepared->constants = std::make_shared<DeviceConstants>(*program, *device, !options.copy_weights);
    if (options.native_code && !program->kernels.empty()) {
      prepared->archived = std::make_shared<ArchivedKernels>(*program);
      device->add_kernels(prepared->archived);
    }
    prepared->takes_parts = device->partitions() != nullptr && !options.reproducible;
  }
  const bool on_cpu = prepared->device == nullptr;
  if (on_cpu && !options.reproducible && settings.listeners.recorder == nullptr)
    prepared->cache = std::make_shared<WeightCache>(options.weight_cache);
  if (on_cpu) {
    prepared->kernels = options.reproducible ? &reproducible_cpu_kernels() : &cpu_kernels();
  } else {
    prepared->kernels = options.reproducible ? &portable_kernels() : &device_kernels(*prepared->device);
  }
  check_kernels(*program, *prepared->kernels);
  for (const Function& original : program->functions) {
    Function exported = options.reproducible ? with_definitions(*program, original) : original;
    // Epilogues are worked on before a product is rounded to its type, and devices have none.
    const bool products = on_cpu && !options.reproducible;
    FusedFunction f =
        settings.fusion == Fusion::on ? fuse(std::move(exported), products) : unfused(std::move(exported));
    prepared->facts.push_back(analyse(*program, f.function, *prepared->kernels));
    prepared->facts.back().numbers = std::move(f.numbers);
    prepared->functions.push_back(std::move(f.function));
  }
  prepared->read_in_bodies.assign(program->states.size(), false);
  for (const Function& f : program->functions) {
    for (const FunctionInput& in : f.inputs) {
      if (!f.entry && in.kind == FunctionInput::Kind::state) prepared->read_in_bodies[in.state] = true;
    }
  }
  if (settings.tuning != nullptr) {
    prepared->ways = {{kAnyThreads, RunningNodes(*prepared).ways(*settings.tuning)}};
  } else if (on_cpu && !options.reproducible) {
    choose_ways(*prepared, *program);
  }
  for (const Packing& p : program->packings) prepared->packings[{p.storage, p.key}] = p.packed;
  prepared->program = std::move(program);
  return prepared;
}

}  // namespace tern
