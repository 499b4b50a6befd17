#include "exporter/tune/workload.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "dtypes/convert.h"
#include "schema/dim.h"
#include "schema/op_record.h"

namespace tern {
namespace {

constexpr std::int64_t kTypicalSize = 32;   // planning size of runtime/pack.cpp
constexpr std::int64_t kIterations = 1000;  // iteration limit of loops ending by synthetic numbers

std::vector<std::int64_t> sizes_of_expressions(const Program& program,
                                               const std::map<std::string, std::int64_t>& argument) {
  std::vector<std::int64_t> symbols, values(program.pool.nodes().size());
  for (const Symbol& s : program.pool.symbols()) {
    const auto found = argument.find(s.name);
    symbols.push_back(found != argument.end() ? found->second : std::clamp(kTypicalSize, s.min, s.max));
  }
  evaluate(program.pool.nodes(), symbols, values);
  return values;
}

Tensor made_up(const TensorType& type, const std::vector<std::int64_t>& expressions, double integer) {
  std::vector<std::int64_t> sizes;
  for (Dim d : type.shape) sizes.push_back(d.is_const() ? d.value() : expressions[d.index()]);
  Tensor t(type.dtype, sizes);
  std::vector<double> values(static_cast<std::size_t>(t.numel()), type.dtype == DType::boolean ? 1 : integer);
  if (is_floating(type.dtype) || is_complex(type.dtype)) {
    std::mt19937_64 generator(1);
    std::normal_distribution<double> normal;
    for (double& v : values) v = normal(generator);
  }
  convert(values.data(), DType::f64, t.data(), type.dtype, t.numel());
  return t;
}

Workload::Call call_of(const Function& f, const std::vector<std::int64_t>& expressions, double integer) {
  Workload::Call call{f.name, {}};
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::user)
      call.inputs.push_back(made_up(f.values[static_cast<std::size_t>(input.value)].type, expressions, integer));
  }
  return call;
}

PrepareOptions options(Precision precision = Precision::exported) {
  PrepareOptions o;
  o.precision = precision;
  o.max_iterations = kIterations;
  o.weight_cache = "off";  // timed work must not change during tuning
  return o;
}

/// True if a node reads a result of the other.
bool touch(const Node& a, const Node& b) {
  const auto reads = [](const Node& reader, const Node& maker) {
    return std::ranges::any_of(maker.outputs, [&](ValueId v) {
      return v != kNoValue && std::ranges::find(reader.inputs, v) != reader.inputs.end();
    });
  };
  return reads(a, b) || reads(b, a);
}

std::string shape_text(const TensorView& v) {
  return fmt::format("[{}]", fmt::join(v.shape(), ", "));
}

std::string kind_of(const KernelCall& call) {
  std::string kind(op_name(call.node->op));
  const auto add = [&](const TensorView& v, bool constant) {
    kind += fmt::format("; {}{} {}", constant ? "constant " : "", name_of(v.dtype), shape_text(v));
  };
  for (std::size_t i = 0; i < call.in.size(); ++i) add(call.in[i], call.constant[i]);
  for (const TensorView& v : call.out) add(v, false);
  for (const Attr& a : call.node->attrs) {
    kind += fmt::format("; {}", static_cast<int>(a.key));
    if (const auto* dims = std::get_if<Dims>(&a.data)) {
      for (Dim d : *dims) kind += fmt::format(" {}", d.is_const() ? d.value() : -1);
    }
  }
  for (const Instruction& i : call.node->expr.code)
    kind += fmt::format("; {} {} {} {} {}", static_cast<int>(i.op), i.a, i.b, i.c, i.number);
  return kind;
}

}  // namespace

Workload make_workload(const Model& model, const std::map<std::string, std::int64_t>& sizes) {
  const Program& program = *model.program();
  const std::vector<std::int64_t> expressions = sizes_of_expressions(program, sizes);
  Workload workload;
  for (const Function& f : program.functions) {
    if (!f.entry) continue;
    std::string problem;
    for (const double integer : {1.0, 0.0}) {
      try {
        Workload::Call call = call_of(f, expressions, integer);
        Session(model.prepare(options())).run(f.name, call.inputs);
        workload.calls.push_back(std::move(call));
        problem.clear();
        break;
      } catch (const Error& e) {
        problem = e.what();
      }
    }
    if (!problem.empty()) workload.left_out.push_back(fmt::format("'{}': {}", f.name, problem));
  }
  return workload;
}

Trial::Trial(const Model& model, const Tuning& tuning, Precision precision)
    : prepared_(
          prepare_program(model.program(), options(precision), {.tuning = &tuning, .listeners = {.observer = this}})),
      session_(PreparedModel(prepared_)) {}

void Trial::prepared(std::uint32_t function, std::uint32_t number, const Kernel& kernel, const KernelCall& call,
                     AlgorithmChoice choice) {
  std::string what(op_name(call.node->op));
  if (call.in.size() > 1) what += fmt::format(" {} by {}", shape_text(call.in[0]), shape_text(call.in[1]));
  steps_[{function, number}] = {kind_of(call), std::move(what), kernel.algorithms, choice};
}

void Trial::estimated(std::uint32_t function, std::uint32_t number, std::vector<AlgorithmCost> costs) {
  estimates_[{function, number}] = std::move(costs);
}

std::vector<AlgorithmCost> Trial::estimates(std::pair<std::uint32_t, std::uint32_t> position) const {
  const auto found = estimates_.find(position);
  return found == estimates_.end() ? std::vector<AlgorithmCost>{} : found->second;
}

Trial::Time Trial::run(const Workload& workload, const NodeNames& nodes) {
  using Clock = std::chrono::steady_clock;
  session_.set_profiling(true);
  const auto start = Clock::now();
  for (const Workload::Call& call : workload.calls) session_.run(call.function, call.inputs);
  Time time{std::chrono::duration<double>(Clock::now() - start).count()};
  for (const auto& [node, seconds] : node_times()) time.nodes += nodes.contains(node) ? seconds : 0;
  return time;
}

NodeNames Trial::nodes_with_neighbours(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& positions) const {
  NodeNames names;
  for (const auto& [function, number] : positions) {
    const Function& f = prepared_->functions[function];
    const std::vector<std::uint32_t>& numbers = prepared_->facts[function].numbers;
    std::set<std::size_t> seen{static_cast<std::size_t>(std::ranges::find(numbers, number) - numbers.begin())};
    std::vector<std::size_t> open(seen.begin(), seen.end());
    while (!open.empty()) {
      const Node& n = f.nodes[open.back()];
      open.pop_back();
      for (std::size_t i = 0; i < f.nodes.size(); ++i) {
        if (!touch(n, f.nodes[i]) || !seen.insert(i).second) continue;
        if (is_view(f.nodes[i].op) || f.nodes[i].op == Op::pointwise) open.push_back(i);
      }
    }
    for (const std::size_t i : seen) names.emplace(f.name, numbers[i]);
  }
  return names;
}

std::map<std::pair<std::string, std::uint32_t>, double> Trial::node_times() const {
  std::map<std::pair<std::string, std::uint32_t>, double> times;
  for (const NodeTime& n : session_.profile()) times[{n.function, n.node}] += n.seconds;
  return times;
}

}  // namespace tern
