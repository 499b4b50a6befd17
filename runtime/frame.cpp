#include "runtime/frame.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "dtypes/checked.h"
#include "dtypes/convert.h"
#include "runtime/cancel.h"
#include "runtime/checks.h"
#include "runtime/devices/device.h"
#include "runtime/devices/times.h"
#include "runtime/outputs.h"
#include "runtime/plan/concrete.h"
#include "runtime/plan/make.h"
#include "runtime/plan/plans.h"
#include "runtime/trace/recorder.h"

namespace tern {
namespace {

constexpr int kMaxDepth =
    64;  // depth of nested control flow; valid programs call only later functions and never reach the limit

}  // namespace

Frame::Frame(SessionContext& context, std::uint32_t function)
    : context_(context),
      prepared_(*context.prepared),
      program_(*prepared_.program),
      f_(prepared_.functions[function]),
      facts_(prepared_.facts[function]),
      index_(function),
      symbols_(program_.pool.symbols().size(), kUndefined),
      expressions_(program_.pool.nodes().size(), kUndefined),
      evaluated_(symbols_.size() + 1),  // an impossible size forces the first evaluation
      sections_(facts_.sections.size()),
      constants_(program_.states.size(), nullptr) {
  context.state->bring(f_);
  for (const FunctionInput& in : f_.inputs) {
    if (in.kind == FunctionInput::Kind::state && !program_.states[in.state].is_mutable)
      constants_[in.state] = context.state->address(in.state);
  }
  results_.resize(f_.outputs.size());
  key_.function = function;
}

std::uint64_t Frame::arena_bytes() const {
  std::uint64_t n = 0;
  for (const SectionState& s : sections_) n += s.arena.size();
  for (const auto& [v, b] : dynamic_) n += b.size();
  for (const auto& [k, child] : children_) n += child->arena_bytes();
  return n;
}

void Frame::count_parts(SessionStats& stats) const {
  for (const SectionState& s : sections_) {
    for (const auto& run : s.plan_runs) {
      for (const PlanStep& step : run->plan->steps) {
        stats.partitions += step.members > 0 ? 1 : 0;
        stats.partitioned += step.members;
      }
    }
  }
  for (const auto& [k, child] : children_) child->count_parts(stats);
}

Frame& Frame::child(std::uint32_t node, std::uint32_t slot) {
  auto& c = children_[{node, slot}];
  if (c == nullptr) c = std::make_unique<Frame>(context_, f_.nodes[node].functions[slot]);
  return *c;
}

std::byte* Frame::dynamic(ValueId v, std::uint64_t bytes) {
  if (v < 0) fail(ErrorCode::internal, "an unused result has no memory");
  Buffer& buffer = dynamic_[v];
  const bool grows = bytes > buffer.size() && context_.prepared->options.max_memory == 0;
  context_.reserve(buffer, grows ? std::max(bytes, buffer.size() * 2) : bytes);
  return buffer.data();
}

void Frame::check_found(std::uint32_t node, std::size_t output, const TensorView& found) {
  if (rehearses_) return;
  evaluate_expressions();
  const TensorType& type = f_.values[static_cast<std::size_t>(f_.nodes[node].outputs[output])].type;
  const Concrete concrete(program_, expressions_);
  if (concrete.agrees(type, found)) return;
  fail(ErrorCode::runtime, fmt::format("result {} is {}, but the program declares {}", output, text_of(found),
                                       text_of(type, program_.pool)));
}

void Frame::bind(Dim symbol, std::int64_t value) {
  const int s = program_.pool.symbol_of(symbol);
  if (s < 0) fail(ErrorCode::internal, "only a symbol can be given a value");
  const Symbol& info = program_.pool.symbols()[static_cast<std::size_t>(s)];
  if (value < info.min || value > info.max) {
    fail(ErrorCode::runtime, fmt::format("the size {} is {}, but the program was exported for {}..{}", info.name, value,
                                         info.min, info.max == kNoBound ? "" : std::to_string(info.max)));
  }
  if (value == kUndefined) fail(ErrorCode::runtime, fmt::format("the size {} is {}", info.name, value));
  if (symbols_[static_cast<std::size_t>(s)] != kUndefined && !rehearses_)
    fail(ErrorCode::runtime, fmt::format("the size {} is bound twice", info.name));
  symbols_[static_cast<std::size_t>(s)] = value;
  expressions_valid_ = false;
}

namespace {

/// Solves coefficient*symbol + constant == value for the only unknown symbol. Returns false for other forms of
/// expressions.
bool solve(const ExprPool& pool, Dim d, std::int64_t value, std::span<const std::int64_t> symbols, int* symbol,
           std::int64_t* result) {
  while (!d.is_const()) {
    const ExprNode& n = pool.nodes()[d.index()];
    if (n.op == ExprOp::symbol) {
      *symbol = static_cast<int>(n.value);
      *result = value;
      return symbols[static_cast<std::size_t>(n.value)] == kUndefined;
    }
    if (n.op != ExprOp::add && n.op != ExprOp::mul) return false;
    const ExprNode &a = pool.nodes()[n.a], &b = pool.nodes()[n.b];
    const bool a_constant = a.op == ExprOp::constant;
    if (!a_constant && b.op != ExprOp::constant) return false;
    const std::int64_t c = a_constant ? a.value : b.value;
    if (n.op == ExprOp::add) {
      if (!checked_sub(value, c, &value)) return false;
    } else if (!is_multiple(value, c) || !checked_div(value, c, &value)) {
      return false;
    }
    d = Dim::node(a_constant ? n.b : n.a);
  }
  return false;
}

}  // namespace

void Frame::bind_inputs(std::span<const TensorView> inputs) {
  std::fill(symbols_.begin(), symbols_.end(), kUndefined);
  expressions_valid_ = facts_.symbols.empty() && expressions_valid_;
  // Binds symbols equal to a whole size first, then symbols inside expressions.
  for (int pass = 0; pass < 2 && !facts_.symbols.empty(); ++pass) {
    for (std::size_t i = 0; i < f_.inputs.size(); ++i) {
      if (f_.inputs[i].kind != FunctionInput::Kind::user || f_.inputs[i].value == kNoValue) continue;
      const Dims& shape = f_.values[static_cast<std::size_t>(f_.inputs[i].value)].type.shape;
      for (std::size_t a = 0; a < shape.size(); ++a) {
        int symbol = program_.pool.symbol_of(shape[a]);
        std::int64_t value = inputs[i].sizes[a];
        if (pass == 0 ? symbol < 0 : !solve(program_.pool, shape[a], value, symbols_, &symbol, &value)) continue;
        if (symbols_[static_cast<std::size_t>(symbol)] != kUndefined) continue;
        const Symbol& info = program_.pool.symbols()[static_cast<std::size_t>(symbol)];
        if (value < info.min || value > info.max) {
          fail(
              ErrorCode::invalid_argument,
              fmt::format("input '{}' has size {} on axis {}, where the program takes {}: {} must be between {} and {}",
                          f_.inputs[i].name, inputs[i].sizes[a], a, program_.pool.text(shape[a]), info.name, info.min,
                          info.max == kNoBound ? "any size" : std::to_string(info.max)));
        }
        symbols_[static_cast<std::size_t>(symbol)] = value;
      }
    }
  }
  evaluate_expressions();
  for (std::size_t i = 0; i < f_.inputs.size(); ++i) {
    if (f_.inputs[i].kind != FunctionInput::Kind::user || f_.inputs[i].value == kNoValue) continue;
    const Dims& shape = f_.values[static_cast<std::size_t>(f_.inputs[i].value)].type.shape;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const std::int64_t want = shape[a].is_const() ? shape[a].value() : expressions_[shape[a].index()];
      if (want == inputs[i].sizes[a]) continue;
      const std::string expected =
          shape[a].is_const() ? std::to_string(want) : fmt::format("{} = {}", program_.pool.text(shape[a]), want);
      fail(ErrorCode::invalid_argument,
           fmt::format("input '{}' has size {} on axis {}, where the program takes {}", f_.inputs[i].name,
                       inputs[i].sizes[a], a, want == kUndefined ? program_.pool.text(shape[a]) : expected));
    }
  }
}

/// Checks a body's operands against the sizes of its plan.
void Frame::check_inputs(std::span<const TensorView> inputs) const {
  const Concrete concrete(program_, expressions_);
  for (std::size_t i = 0; i < f_.inputs.size(); ++i) {
    if (f_.inputs[i].kind != FunctionInput::Kind::user || f_.inputs[i].value == kNoValue) continue;
    const TensorType& type = f_.values[static_cast<std::size_t>(f_.inputs[i].value)].type;
    if (concrete.agrees(type, inputs[i])) continue;
    fail(ErrorCode::runtime, fmt::format("operand {} of body '{}' is {}, but the program declares {}", i, f_.name,
                                         text_of(inputs[i]), text_of(type, program_.pool)));
  }
}

void Frame::evaluate_expressions() {
  if (expressions_valid_) return;
  expressions_valid_ = true;
  if (evaluated_ == symbols_) return;
  evaluate(program_.pool.nodes(), symbols_, expressions_);
  evaluated_ = symbols_;
}

PlanRun& Frame::plan_for(std::uint32_t section) {
  SectionState& s = sections_[section];
  key_.section = section;
  key_.symbols.clear();
  for (std::uint32_t symbol : facts_.symbols) key_.symbols.push_back(symbols_[symbol]);
  if (prepared_.device->traits().native_kernels) key_.threads = context_.threads;
  key_.previous = section == 0 ? nullptr : sections_[section - 1].current->plan;
  const auto known = std::ranges::find_if(s.plan_runs, [&](const auto& run) { return run->plan->key == key_; });
  if (known != s.plan_runs.end()) {
    (*known)->used = ++context_.clock;
    return **known;
  }
  if (s.plan_runs.size() >= static_cast<std::size_t>(std::max(1, prepared_.options.cached_plans))) {
    const auto oldest = std::ranges::min_element(s.plan_runs, std::less<>(), [](const auto& run) { return run->used; });
    if (context_.trace != nullptr) {
      context_.trace->forget(*(*oldest)->plan);
    } else {
      ++context_.plans_dropped;
    }
    s.plan_runs.erase(oldest);
  }
  s.plan_runs.push_back(std::make_unique<PlanRun>(shared_plan(key_)));
  s.plan_runs.back()->graphs = KeptGraphs::create(*s.plan_runs.back()->plan, index_, context_);
  s.plan_runs.back()->used = ++context_.clock;
  return *s.plan_runs.back();
}

std::shared_ptr<const SectionPlan> Frame::shared_plan(const PlanKey& key) {
  bool made = false;
  auto plan = prepared_.plans->find_or_create(
      key,
      [&] {
        const TraceSpan span(EventKind::plan, "plan of " + f_.name);
        return make_plan({prepared_, key, expressions_, constants_, *context_.stream});
      },
      &made);
  context_.plans_made += made ? 1 : 0;
  return plan;
}

std::byte* Frame::base(const Location& location, std::span<const TensorView> inputs) {
  switch (location.kind) {
    case Location::Kind::none: return nullptr;
    case Location::Kind::arena: return sections_[location.index].arena.data() + location.offset;
    case Location::Kind::input: return inputs[location.index].data + location.offset;
    case Location::Kind::state:
      return (constants_[location.index] != nullptr ? constants_[location.index]
                                                    : context_.state->data(location.index)) +
             location.offset;
    case Location::Kind::dynamic: return dynamic_[static_cast<ValueId>(location.index)].data() + location.offset;
  }
  return nullptr;
}

void Frame::locate(PlanRun& run, std::span<const TensorView> inputs) {
  for (std::size_t i = 0; i < run.args.size(); ++i) run.args[i].data = base(run.plan->locations[i], inputs);
}

const std::vector<TensorView>& Frame::run(std::span<const TensorView> inputs, std::span<const std::int64_t> inherited,
                                          CallerOutputs* outputs) {
  if (context_.depth >= kMaxDepth) fail(ErrorCode::runtime, "control flow is nested too deeply");
  struct Depth {
    int& d;
    explicit Depth(int& depth) : d(depth) { ++d; }
    ~Depth() { --d; }
  } depth(context_.depth);
  if (inherited.empty()) {
    bind_inputs(inputs);
  } else if (!std::ranges::equal(symbols_, inherited) || !expressions_valid_) {
    std::ranges::copy(inherited, symbols_.begin());
    expressions_valid_ = false;
  }
  if (!inherited.empty()) {
    evaluate_expressions();
    check_inputs(inputs);
  }
  for (std::uint32_t s = 0; s < sections_.size(); ++s) {
    evaluate_expressions();
    PlanRun& run = plan_for(s);
    const SectionPlan& plan = *run.plan;
    sections_[s].current = &run;
    context_.reserve(sections_[s].arena, plan.arena_bytes);
    if (plan.scratch_bytes > 0) context_.reserve(context_.scratch, plan.scratch_bytes);
    locate(run, inputs);
    if (outputs != nullptr && s + 1 == sections_.size()) {
      outputs->expect(plan.outputs);
      outputs->redirect_arguments(plan, run.args);
    }
    execute(run);
  }
  const SectionPlan& plan = *sections_.back().current->plan;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    results_[i] = plan.outputs[i].view;
    results_[i].data = base(plan.outputs[i].location, inputs);
    if (outputs != nullptr && outputs->is_written_directly(i) && !plan.output_args[i].empty())
      results_[i].data = outputs->view(i).data;
  }
  return results_;
}

void Frame::plan(std::span<const std::int64_t> symbols) {
  std::ranges::copy(symbols, symbols_.begin());
  expressions_valid_ = false;
  evaluate_expressions();
  for (std::uint32_t s = 0; s < sections_.size(); ++s) sections_[s].current = &plan_for(s);
}

void Frame::execute(PlanRun& run) {
  const bool watched = context_.is_watched();
  // A capture needs the single steps.
  const bool may_use_graphs = context_.recording == nullptr && (!watched || has_graph_times(context_));
  KeptGraphs* graphs = may_use_graphs ? run.graphs.get() : nullptr;
  const std::vector<PlanStep>& steps = run.plan->steps;
  PendingChecks checks(context_);
  const auto describe_node = [this](std::uint32_t node) { return describe(node); };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PlanStep& step = steps[i];
    const bool starts_graph = graphs != nullptr && graphs->can_begin_at(i);
    if (starts_graph || checks.must_settle_before(*run.plan, step)) checks.settle(describe_node);
    try {
      context_.limits.check_time();
      if (starts_graph) {
        const auto put = [&](const PlanStep& step) { execute(run, step); };
        if (const std::size_t done = graphs->run(context_, run.args, i, put); done > 0) {
          i += done - 1;
          continue;
        }
      }
      if (context_.recording != nullptr) {
        record(run, step);
      } else if (step.kind == PlanStep::Kind::assert_true && checks.add(run.inputs(step)[0], step)) {
        continue;
      } else if (watched) {
        measure(run, step);
      } else {
        execute(run, step);
      }
    } catch (const Error& e) {
      if (step.kind == PlanStep::Kind::control) throw;  // the message already names the inner node
      fail_at(describe(step.node), e);
    }
  }
  checks.settle(describe_node);
}

void Frame::measure(PlanRun& run, const PlanStep& step) {
  measure_step(context_, index_, step, run.inputs(step), run.outputs(step), [&] { execute(run, step); });
}

void Frame::execute(PlanRun& run, const PlanStep& step) {
  const std::span<TensorView> in = run.inputs(step), out = run.outputs(step);
  switch (step.kind) {
    case PlanStep::Kind::kernel: return run_kernel(run, step);
    case PlanStep::Kind::copy:
      context_.bytes_copied +=
          static_cast<std::uint64_t>(out[0].numel()) * static_cast<std::uint64_t>(element_size(out[0].dtype));
      return context_.copy(in[0], out[0]);
    case PlanStep::Kind::control: return run_control(*this, step.node, *step.resolved, in, out);
    case PlanStep::Kind::item: {
      if (!is_integral(in[0].dtype) && in[0].dtype != DType::boolean)
        fail(ErrorCode::runtime, "only an integer or a boolean can become a size");
      std::byte element[sizeof(std::int64_t)];
      context_.read(element, in[0].data, static_cast<std::size_t>(element_size(in[0].dtype)));
      std::int64_t value = 0;
      convert(element, in[0].dtype, &value, DType::i64, 1);
      return bind(step.resolved->dims(AttrKey::symbols)[0], value);
    }
    case PlanStep::Kind::assert_true: {
      std::uint8_t holds = 0;
      context_.read(&holds, in[0].data, sizeof holds);
      if (holds == 0) fail(ErrorCode::runtime, "the program's check failed: " + step.resolved->text(AttrKey::text));
      return;
    }
  }
}

namespace {

/// Allocates a kernel's data-dependent outputs in the frame's memory.
class FrameAllocator : public OutputAllocator {
 public:
  FrameAllocator(Frame& frame, std::uint32_t node) : frame_(frame), node_(frame.function().nodes[node]) {}
  void allocate(std::size_t output, std::span<const std::int64_t> sizes, TensorView* view) override {
    const ValueId v = node_.outputs[output];
    if (v == kNoValue) fail(ErrorCode::internal, "an unused result has no memory");
    const TensorType& type = frame_.function().values[static_cast<std::size_t>(v)].type;
    view->dtype = type.dtype;
    view->rank = static_cast<std::int32_t>(sizes.size());
    std::ranges::copy(sizes, view->sizes.begin());
    TensorType sized = type;
    sized.shape.resize(sizes.size());
    view->data = frame_.dynamic(v, view_bytes(sized, *view));
    make_contiguous(*view);
    allocated_ |= std::uint32_t{1} << output;
  }
  /// True if the kernel has sized any output, or this output.
  bool allocated() const { return allocated_ != 0; }
  bool allocated(std::size_t output) const { return (allocated_ >> output & 1) != 0; }
  void set_symbol(std::size_t k, std::int64_t value) override { frame_.bind(node_.dims(AttrKey::symbols)[k], value); }

 private:
  Frame& frame_;
  const Node& node_;
  std::uint32_t allocated_ = 0;  ///< bit mask of outputs: ops with sized outputs have few outputs
};

}  // namespace

void Frame::run_kernel(PlanRun& run, const PlanStep& step) {
  FrameAllocator allocator(*this, step.node);
  KernelCall call = step.call(run.args.data() + step.args, run.plan->constant.get() + step.args);
  call.precision = context_.prepared->precision(*call.node);
  call.scratch = {context_.scratch.data(), step.scratch};
  call.allocator = &allocator;
  call.random = &context_.random;
  call.groups = context_.groups;
  call.launcher = &context_.stream->launcher();
  step.kernel->run(call);
  if (!allocator.allocated()) return;
  for (std::size_t k = 0; k < call.out.size(); ++k) {
    if (allocator.allocated(k)) check_found(step.node, k, call.out[k]);
  }
}

}  // namespace tern
