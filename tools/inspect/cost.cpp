#include "tools/inspect/cost.h"

#include <tern/error.h>

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/devices/device.h"
#include "runtime/plan/make.h"
#include "runtime/prepared.h"
#include "runtime/profile.h"
#include "tools/sizes.h"

namespace tern {
namespace {

constexpr std::int64_t kTypicalSize = 32;  // the default of runtime/pack.cpp
constexpr int kMaxDepth = 64;              // depth of nested bodies
constexpr std::size_t kMaxFunctions = 64;  // planned entry functions: each looks at all sizes of the program

// Limits for planning: a plan takes time for each node, and kernels may build tables; a small file must not cost much
// of either.
constexpr std::size_t kMaxNodes = 1 << 14;
constexpr std::uint64_t kBaseMemory = std::uint64_t{64} << 20, kMemoryPerWeightByte = 64;

std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

std::uint64_t elements_of(const TensorType& type) {
  std::uint64_t n = 1;
  for (Dim d : type.shape) {
    if (!d.is_const() || d.value() < 0 || __builtin_mul_overflow(n, static_cast<std::uint64_t>(d.value()), &n))
      return 0;
  }
  return n;
}

struct PlannedCost {
  double flops = 0;
  std::uint64_t arena = 0, scratch = 0;  ///< bytes
};

/// Plans functions at the values of the program's symbols, each once.
class Planning {
 public:
  Planning(std::shared_ptr<const PreparedProgram> prepared, const std::map<std::string, std::int64_t>& sizes)
      : prepared_(std::move(prepared)),
        stream_(prepared_->device->open_stream()),
        expressions_(evaluate_sizes(*prepared_->program, sizes)),
        constants_(prepared_->program->states.size(), nullptr),
        figures_of_functions_(prepared_->functions.size()) {}

  const PlannedCost& figures(std::uint32_t f, int depth = 0) {
    if (figures_of_functions_[f]) return *figures_of_functions_[f];
    if (depth > kMaxDepth) fail(ErrorCode::unsupported, "control flow is nested too deeply");
    PlannedCost total = plan_sections(f);
    for (const Node& n : prepared_->functions[f].nodes) {
      for (std::uint32_t body : n.functions) {
        const PlannedCost& body_figures = figures(body, depth + 1);
        total.flops += body_figures.flops;
        total.arena = saturated_sum(total.arena, body_figures.arena);
        total.scratch = std::max(total.scratch, body_figures.scratch);
      }
    }
    return figures_of_functions_[f].emplace(total);
  }

 private:
  /// Plans the function's own nodes, section by section.
  PlannedCost plan_sections(std::uint32_t f) const {
    PlannedCost total;
    std::shared_ptr<const SectionPlan> previous_plan;
    for (std::uint32_t s = 0; s < prepared_->facts[f].sections.size(); ++s) {
      previous_plan =
          make_plan({*prepared_, {f, s, {}, Threads::current(), previous_plan}, expressions_, constants_, *stream_});
      const SectionPlan& plan = *previous_plan;
      total.arena = saturated_sum(total.arena, plan.arena_bytes);
      total.scratch = std::max(total.scratch, plan.scratch_bytes);
      for (const PlanStep& step : plan.steps) {
        if (step.kind != PlanStep::Kind::kernel || step.resolved == nullptr) continue;
        const TensorView* args = plan.args.data() + step.args;
        total.flops += flops_of(*step.resolved, {args, step.inputs}, {args + step.inputs, step.outputs});
      }
    }
    return total;
  }

  std::shared_ptr<const PreparedProgram> prepared_;
  std::shared_ptr<DeviceStream> stream_;
  std::vector<std::int64_t> expressions_;
  std::vector<std::byte*> constants_;  // empty: packed weights are not part of a run's memory
  std::vector<std::optional<PlannedCost>> figures_of_functions_;
};

void count_states(const Program& p, ProgramCost& cost, std::uint64_t& mutable_bytes) {
  std::set<std::uint32_t> storages;
  for (const State& s : p.states) {
    if (s.is_mutable && storages.insert(s.storage).second && s.storage < p.storages.size())
      mutable_bytes = saturated_sum(mutable_bytes, p.storages[s.storage].size);
    if (s.tied >= 0) continue;
    const bool is_parameter = s.kind == State::Kind::parameter;
    auto& elements = is_parameter ? cost.parameters : cost.buffers;
    elements = saturated_sum(elements, elements_of(s.type));
    ++(is_parameter ? cost.parameter_tensors : cost.buffer_tensors);
  }
}

}  // namespace

PrepareOptions planning_options(const Program& program) {
  std::size_t nodes = 0;
  std::uint64_t weights = 0;
  for (const Function& f : program.functions) nodes += f.nodes.size();
  for (const Storage& s : program.storages) weights = saturated_sum(weights, std::min(s.size, std::uint64_t{1} << 40));
  if (nodes > kMaxNodes) fail(ErrorCode::unsupported, "a program of so many nodes is planned only when it runs");
  PrepareOptions options;
  options.weight_cache = "off";
  options.max_memory = saturated_sum(kBaseMemory, weights * kMemoryPerWeightByte);
  return options;
}

std::map<std::string, std::int64_t> typical_sizes(const Program& program,
                                                  const std::map<std::string, std::int64_t>& given_sizes) {
  std::map<std::string, std::int64_t> sizes;
  for (const Symbol& s : program.pool.symbols())
    sizes[s.name] = std::clamp(kTypicalSize, s.min, std::max(s.min, s.max));
  for (const auto& [name, value] : given_sizes) sizes[name] = value;
  return sizes;
}

std::uint64_t arena_of(const Program& program, std::uint32_t function,
                       const std::map<std::string, std::int64_t>& sizes) {
  PrepareOptions options;
  options.weight_cache = "off";
  const std::shared_ptr<const Program> borrowed(std::shared_ptr<const Program>(), &program);
  const PlannedCost figures = Planning(prepare_program(borrowed, options), sizes).figures(function);
  return saturated_sum(figures.arena, figures.scratch);
}

ProgramCost cost_of(const std::shared_ptr<const Program>& program,
                    const std::map<std::string, std::int64_t>& given_sizes) {
  ProgramCost cost;
  std::uint64_t states = 0;
  count_states(*program, cost, states);
  std::set<std::string> custom;
  for (const Function& f : program->functions) {
    for (const Node& n : f.nodes) {
      if (n.op == Op::custom) custom.insert(std::string(n.text(AttrKey::name)));
    }
  }
  cost.custom_ops.assign(custom.begin(), custom.end());
  const std::map<std::string, std::int64_t> sizes = typical_sizes(*program, given_sizes);
  std::optional<Planning> planning;
  for (std::uint32_t i = 0; i < program->functions.size(); ++i) {
    const Function& f = program->functions[i];
    if (!f.entry || cost.functions.size() == kMaxFunctions) continue;
    FunctionCost& c = cost.functions.emplace_back();
    c.name = f.name;
    c.states = states;
    for (const std::string& name : size_names(*program, f)) c.sizes[name] = sizes.at(name);
    try {
      if (!planning) planning.emplace(prepare_program(program, planning_options(*program)), sizes);
      const PlannedCost& figures = planning->figures(i);
      c.flops = figures.flops;
      c.arena = saturated_sum(figures.arena, figures.scratch);
    } catch (const std::exception& e) {
      c.problem = e.what();
    }
  }
  return cost;
}

}  // namespace tern
