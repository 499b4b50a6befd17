#include "runtime/planner.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <new>
#include <optional>
#include <set>

#include "kernels/channels_last.h"
#include "runtime/arena.h"
#include "runtime/concrete.h"
#include "runtime/devices/section_parts.h"
#include "runtime/limits.h"
#include "runtime/upcoming.h"
#include "runtime/views.h"
#include "schema/op_record.h"

namespace tern {
namespace {

constexpr std::uint32_t kForever = ~0u;

/// One memory that values are views of: an input, a state, a block of this section's arena, or something an earlier
/// section made.
struct Root {
  std::int32_t block = -1;     ///< in Planner::blocks_, or -1 when it is not this section's
  Location at;                 ///< where the memory begins
  std::uint32_t last_use = 0;  ///< as FunctionFacts::last_use, over all values placed in it so far
  std::uint64_t bytes = 0;     ///< of a block
};

/// What a step's kernel sees of its constant operands while it prepares.
class StepWeights : public WeightAccess {
 public:
  StepWeights(const PreparedProgram& prepared, const Plan& plan, const Step& step)
      : prepared_(prepared), plan_(plan), step_(step) {}

  std::span<const std::byte> packed(std::size_t input, const std::string& key) override {
    const std::optional<std::uint32_t> storage = storage_of(input);
    if (!storage) return {};
    const auto found = prepared_.packings.find({*storage, key});
    return found == prepared_.packings.end() ? std::span<const std::byte>()
                                             : prepared_.program->source->bytes(found->second);
  }
  void fetch(std::size_t input) override {
    if (const auto storage = storage_of(input)) prepared_.program->source->bytes(*storage);
  }
  bool collects() const override { return prepared_.recorder != nullptr; }
  void offer(std::size_t input, const std::string& key, std::span<const std::byte> bytes) override {
    const auto storage = storage_of(input);
    if (prepared_.recorder != nullptr && storage)
      prepared_.recorder->packed[{*storage, key}].assign(bytes.begin(), bytes.end());
  }

 private:
  /// Only a weight that is the whole of its storage can be found by the storage alone.
  std::optional<std::uint32_t> storage_of(std::size_t input) const {
    const std::size_t arg = step_.args + input;
    if (!plan_.constant[arg]) return std::nullopt;
    const State& state = prepared_.program->states[plan_.locations[arg].index];
    const std::uint64_t bytes = static_cast<std::uint64_t>(plan_.args[arg].numel()) *
                                static_cast<std::uint64_t>(element_size(state.type.dtype));
    if (bytes != prepared_.program->storages[state.storage].size) return std::nullopt;
    return state.storage;
  }
  const PreparedProgram& prepared_;
  const Plan& plan_;
  const Step& step_;
};

class Planner {
 public:
  explicit Planner(PlanRequest request)
      : r_(std::move(request)),
        program_(*r_.prepared->program),
        f_(r_.prepared->functions[r_.function]),
        facts_(r_.prepared->facts[r_.function]),
        concrete_(program_, r_.expressions),
        last_use_(facts_.last_use),
        root_of_(f_.values.size(), -1),
        checked_(f_.nodes.size()) {}

  Plan make() {
    find_parts();
    place_inputs();
    const Section section = facts_.sections[r_.section];
    reserve(section);
    for (std::uint32_t i = section.begin; i < section.end; ++i) {
      try {
        const std::int32_t part = part_of_.empty() ? -1 : part_of_[i - section.begin];
        if (part < 0) {
          plan_node(i);
        } else if ((*parts_)[static_cast<std::size_t>(part)].nodes.back() == i) {
          plan_part(static_cast<std::size_t>(part));
        }
      } catch (const Error& e) {
        fail(e.code(), describe(*r_.prepared, r_.function, i) + ": " + e.what());
      }
    }
    if (r_.section + 1 == facts_.sections.size()) finish_function();
    pack_blocks();
    // Before kernels prepare tables as large as their results.
    RunLimits().check_memory(plan_.arena_bytes, r_.prepared->options);
    plan_.constant = std::make_unique<bool[]>(plan_.args.size());
    for (std::size_t i = 0; i < plan_.args.size(); ++i) {
      const Location& at = plan_.locations[i];
      plan_.constant[i] = at.kind == Location::Kind::state && r_.constants[at.index] != nullptr;
      if (plan_.constant[i]) plan_.args[i].data = r_.constants[at.index] + at.offset;
    }
    prepare_kernels();
    plan_upcoming(plan_);
    plan_.placed.reserve(made_.size());
    for (ValueId v : made_) plan_.placed.emplace_back(v, r_.values[static_cast<std::size_t>(v)]);
    return std::move(plan_);
  }

 private:
  Placed& placed(ValueId v) { return r_.values[static_cast<std::size_t>(v)]; }
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }
  std::uint32_t step_number() const { return static_cast<std::uint32_t>(plan_.steps.size()); }

  /// Room for what the nodes of the section become, as views are large to move.
  void reserve(Section section) {
    std::size_t args = 0, steps = 0;
    for (std::uint32_t i = section.begin; i < section.end; ++i) {
      const Node& n = f_.nodes[i];
      if (is_view(n.op)) continue;
      args += n.inputs.size() + n.outputs.size();
      ++steps;
    }
    plan_.args.reserve(args);
    plan_.locations.reserve(args);
    arg_root_.reserve(args);
    plan_.steps.reserve(steps);
  }

  std::int32_t new_root(Root root) {
    roots_.push_back(root);
    return static_cast<std::int32_t>(roots_.size() - 1);
  }

  /// Makes `v` a view in memory `root`.
  void place(ValueId v, const TensorView& view, std::int64_t offset, std::int32_t root) {
    Root& r = roots_[static_cast<std::size_t>(root)];
    Location at = r.at;
    at.offset = offset;
    placed(v) = {view, at};
    root_of_[static_cast<std::size_t>(v)] = root;
    const std::uint32_t last = last_use_[static_cast<std::size_t>(v)];
    r.last_use = std::max(r.last_use, last);
    const bool outlives = last == kUsedToTheEnd || last > facts_.sections[r_.section].end;
    if (r.block >= 0 && outlives) blocks_[static_cast<std::size_t>(r.block)].last = kForever;
    made_.push_back(v);
  }

  std::int32_t new_block(std::uint64_t bytes) {
    blocks_.push_back({bytes, step_number(), step_number()});
    Root root;
    root.block = static_cast<std::int32_t>(blocks_.size() - 1);
    root.at = {Location::Kind::arena, r_.section, 0};
    root.bytes = bytes;
    return new_root(root);
  }

  void place_inputs() {
    for (std::uint32_t i = 0; i < f_.inputs.size(); ++i) {
      const FunctionInput& in = f_.inputs[i];
      if (in.kind == FunctionInput::Kind::none || in.value == kNoValue) continue;
      const bool state = in.kind == FunctionInput::Kind::state;
      Root root;
      root.at = {state ? Location::Kind::state : Location::Kind::input, state ? in.state : i, 0};
      place(in.value, state ? state_view(program_.states[in.state]) : concrete_.view(type(in.value)), 0,
            new_root(root));
    }
    // What earlier sections left.
    for (std::size_t v = 0; v < f_.values.size(); ++v) {
      if (root_of_[v] >= 0 || facts_.section_of[v] >= r_.section) continue;
      Placed& p = r_.values[v];
      if (p.at.kind == Location::Kind::none) {
        if (facts_.last_use[v] == kNeverUsed || !concrete_.known(f_.values[v].type)) continue;
        p = {concrete_.view(f_.values[v].type), {Location::Kind::dynamic, static_cast<std::uint32_t>(v), 0}};
      }
      Root root;
      root.at = p.at;
      root.last_use = kUsedToTheEnd;  // its other views are not known here
      roots_.push_back(root);
      root_of_[v] = static_cast<std::int32_t>(roots_.size() - 1);
    }
    made_.clear();
  }

  void use(std::int32_t root) {
    const std::int32_t block = roots_[static_cast<std::size_t>(root)].block;
    if (block < 0) return;
    Block& b = blocks_[static_cast<std::size_t>(block)];
    b.last = std::max(b.last, step_number());
  }

  void add_arg(const Placed& p, std::int32_t root) {
    plan_.args.push_back(p.view);
    plan_.locations.push_back(p.at);
    arg_root_.push_back(root);
    if (root >= 0) use(root);
  }

  Step& add_step(Step::Kind kind, std::uint32_t node) {
    plan_.steps.emplace_back();
    plan_.steps.back().kind = kind;
    plan_.steps.back().node = node;
    if (!facts_.numbers.empty()) plan_.steps.back().number = facts_.numbers[node];
    plan_.steps.back().args = static_cast<std::uint32_t>(plan_.args.size());
    return plan_.steps.back();
  }

  /// With the state's own strides. Packed elements are always contiguous, and those of nothing mean nothing.
  TensorView state_view(const State& s) const {
    TensorView view = concrete_.view(s.type);
    if (s.type.block == 0 && elements_per_byte(s.type.dtype) == 1 && view.numel() != 0)
      std::copy(s.strides.begin(), s.strides.end(), view.strides.begin());
    return view;
  }

  /// Copies value `v`.
  void add_copy(std::uint32_t node, ValueId v, const Placed& from, std::int32_t from_root, const Placed& to,
                std::int32_t to_root) {
    add_arg({view_to_copy(type(v), from.view), from.at}, from_root);
    add_arg({view_to_copy(type(v), to.view), to.at}, to_root);
    Step& s = add_step(Step::Kind::copy, node);
    s.args = static_cast<std::uint32_t>(plan_.args.size() - 2);
    s.inputs = s.outputs = 1;
  }

  /// A version of `v` with channels last, copied if need be: its place and root.
  std::pair<Placed, std::int32_t> channels_last(ValueId v, std::uint32_t node) {
    const Placed from = placed(v);
    const std::int32_t root = root_of_[static_cast<std::size_t>(v)];
    if (is_channels_last(from.view)) return {from, root};
    Placed to{from.view, {}};
    make_channels_last(to.view);
    if (from.view.contiguous() && in_channels_last_order(from.view, from.view.rank).contiguous()) {
      to.at = from.at;  // one order as well as the other
      return {to, root};
    }
    const std::int32_t copy = new_block(view_bytes(type(v), to.view));
    to.at = roots_[static_cast<std::size_t>(copy)].at;
    add_copy(node, v, from, root, to, copy);
    return {to, copy};
  }

  /// Whether node `n` makes its result with channels last.
  bool makes_channels_last(std::uint32_t i, const Node& n, const Kernel& kernel) {
    const auto others = std::span(n.outputs).subspan(std::min<std::size_t>(1, n.outputs.size()));
    if (n.outputs.empty() || n.outputs[0] == kNoValue || !concrete_.known(type(n.outputs[0])) ||
        std::ranges::any_of(others, [](ValueId v) { return v != kNoValue; }))
      return false;
    TensorView out = concrete_.view(type(n.outputs[0]));
    if (n.op == Op::pointwise) {
      if (std::ranges::any_of(n.expr.code, [](const Instruction& i) { return i.op == Scalar::index; }) ||
          elements_per_byte(out.dtype) != 1 || type(n.outputs[0]).block != 0 ||
          std::ranges::any_of(n.inputs,
                              [&](ValueId v) { return type(v).block != 0 || elements_per_byte(type(v).dtype) != 1; }))
        return false;
      return std::ranges::any_of(n.inputs, [&](ValueId v) {
        return std::ranges::equal(placed(v).view.shape(), out.shape()) && is_channels_last(placed(v).view);
      });
    }
    if (kernel.channels_last == nullptr) return false;
    std::vector<TensorView> in;
    for (ValueId v : n.inputs) in.push_back(v == kNoValue ? TensorView{} : placed(v).view);
    KernelCall call;
    call.node = &n;
    call.in = in;
    call.out = {&out, 1};
    call.way = r_.prepared->way(r_.function, i, r_.threads);
    return kernel.channels_last(call);
  }

  /// A contiguous version of `v`, copied if need be: its place and root.
  std::pair<Placed, std::int32_t> contiguous(ValueId v, std::uint32_t node, bool always = false) {
    const Placed from = placed(v);
    const std::int32_t root = root_of_[static_cast<std::size_t>(v)];
    if (!always && from.view.contiguous()) return {from, root};
    Placed to{from.view, {}};
    make_contiguous(to.view);
    const std::int32_t copy = new_block(view_bytes(type(v), to.view));
    to.at = roots_[static_cast<std::size_t>(copy)].at;
    add_copy(node, v, from, root, to, copy);
    return {to, copy};
  }

  void plan_node(std::uint32_t i) {
    const Node& n = f_.nodes[i];
    for (ValueId v : n.inputs) {
      if (v != kNoValue && placed(v).at.kind == Location::Kind::none)
        fail(ErrorCode::internal, "an operand has no place in memory");
    }
    if (n.op == Op::assert_dim) {
      if (concrete_.value(n.dim(AttrKey::dim)) == 0)
        fail(ErrorCode::runtime, "the program's check failed: " + n.text(AttrKey::text));
      return;
    }
    const Node* resolved = &n;
    if (auto copy = concrete_.resolve(n)) {
      resolved = copy.get();
      plan_.nodes.push_back(std::move(copy));
    }
    const bool control = has_trait(n.op, Trait::control);
    if (!control) check(i, *resolved);
    if (is_view(n.op)) {
      plan_view(i, *resolved);
    } else {
      plan_work(i, *resolved, control);
    }
  }

  /// Once for all nodes of a form: at known sizes they are as much the same as before.
  void check(std::uint32_t i, const Node& resolved) {
    const std::uint32_t first = facts_.first_of_form[i];
    if (checked_[first]) return;
    concrete_.check(f_, i, resolved);
    checked_[first] = true;
  }

  PartitionKey part_key() const { return {r_.function, r_.section, r_.key}; }

  /// Which nodes of this section the device runs together.
  void find_parts() {
    Partitions* partitions = r_.prepared->partitions.get();
    if (partitions == nullptr) return;
    const Section section = facts_.sections[r_.section];
    parts_ = partitions->parts(part_key(), [&] {
      return find_section_parts(*r_.prepared->device, f_, section.begin, section.end, concrete_);
    });
    part_of_.assign(section.end - section.begin, -1);
    for (std::size_t p = 0; p < parts_->size(); ++p) {
      const Part& part = (*parts_)[p];
      for (std::uint32_t i : part.nodes) part_of_[i - section.begin] = static_cast<std::int32_t>(p);
      // Its nodes run at the place of the last: no step before that may overwrite their operands.
      for (ValueId v : part.inputs) {
        std::uint32_t& last = last_use_[static_cast<std::size_t>(v)];
        last = std::max(last, part.nodes.back() + 1);
      }
    }
  }

  /// As one step; or its nodes one by one, where the device does not take it after all.
  void plan_part(std::size_t number) {
    const Part& part = (*parts_)[number];
    std::vector<const Node*> nodes;
    std::vector<std::unique_ptr<Node>> resolved;
    for (std::uint32_t i : part.nodes) {
      resolved.push_back(concrete_.resolve(f_.nodes[i]));
      nodes.push_back(resolved.back() == nullptr ? &f_.nodes[i] : resolved.back().get());
      check(i, *nodes.back());
    }
    const auto view = [&](ValueId v) {
      const Placed& p = placed(v);
      if (p.at.kind == Location::Kind::none) return concrete_.view(type(v));  // made inside
      TensorView at = p.view;
      const bool constant = p.at.kind == Location::Kind::state && r_.constants[p.at.index] != nullptr;
      at.data = constant ? r_.constants[p.at.index] + p.at.offset : nullptr;
      return at;
    };
    const auto compiled = r_.prepared->partitions->compiled(part_key(), number, [&] {
      return compile_part(*r_.prepared->device, {nodes, part.inputs, part.outputs, view});
    });
    if (compiled->handle == nullptr) {
      for (std::uint32_t i : part.nodes) plan_node(i);
      return;
    }
    for (std::size_t k = 0; k < nodes.size(); ++k) check(part.nodes[k], *nodes[k]);
    const std::size_t args = plan_.args.size();
    for (ValueId v : part.inputs) add_arg(placed(v), root_of_[static_cast<std::size_t>(v)]);
    for (ValueId v : part.outputs) {
      const TensorView out = concrete_.view(type(v));
      place(v, out, 0, new_block(view_bytes(type(v), out)));
      add_arg(placed(v), root_of_[static_cast<std::size_t>(v)]);
    }
    Step& s = add_step(Step::Kind::kernel, part.nodes.back());
    s.args = static_cast<std::uint32_t>(args);
    s.inputs = static_cast<std::uint32_t>(part.inputs.size());
    s.outputs = static_cast<std::uint32_t>(part.outputs.size());
    s.members = static_cast<std::uint32_t>(part.nodes.size());
    s.resolved = nodes.back();
    s.kernel = &part_kernel();
    s.state = part_state(compiled);
    if (resolved.back() != nullptr) plan_.nodes.push_back(std::move(resolved.back()));
  }

  void plan_view(std::uint32_t i, const Node& n) {
    const ValueId v = n.outputs[0];
    if (v == kNoValue) return;
    TensorView view = concrete_.view(type(v));
    Placed from = placed(n.inputs[0]);
    std::int32_t root = root_of_[static_cast<std::size_t>(n.inputs[0])];
    std::int64_t offset = from.at.offset;
    if (!apply_view(n, from.view, &view, &offset)) {
      std::tie(from, root) = contiguous(n.inputs[0], i, true);
      view = concrete_.view(type(v));
      offset = from.at.offset;
      if (!apply_view(n, from.view, &view, &offset))
        fail(ErrorCode::internal, "a view of contiguous elements cannot be made");
    }
    place(v, view, offset, root);
  }

  /// Whether output `k` of node `i` may take over the memory of operand `from`.
  bool can_overwrite(std::uint32_t i, const Node& n, std::size_t k, std::size_t from, const TensorView& out) {
    if (from >= n.inputs.size() || n.inputs[from] == kNoValue) return false;
    const ValueId v = n.inputs[from];
    const Placed& p = placed(v);
    const std::int32_t root = root_of_[static_cast<std::size_t>(v)];
    const Root& r = roots_[static_cast<std::size_t>(root)];
    if (p.view.dtype != out.dtype || type(v).block != 0 || !std::ranges::equal(p.view.shape(), out.shape()))
      return false;
    if (out.contiguous() ? !p.view.contiguous() : p.view.strides != out.strides) return false;
    if (r.last_use > i + 1) return false;
    if (r.at.kind == Location::Kind::state || r.at.kind == Location::Kind::input) {
      const std::int32_t w = facts_.written_to[static_cast<std::size_t>(n.outputs[k])];
      if (w < 0 || p.at.offset != 0) return false;
      const WriteBack& target = f_.writebacks[static_cast<std::size_t>(w)];
      const bool state = target.target == WriteBack::Target::state;
      if (state != (r.at.kind == Location::Kind::state) || target.index != r.at.index) return false;
      if (state && r_.prepared->read_in_bodies[r.at.index]) return false;
    } else if (r.block < 0) {
      return false;
    }
    for (std::size_t other = 0; other < n.inputs.size(); ++other) {
      if (other == from || n.inputs[other] == kNoValue || root_of_[static_cast<std::size_t>(n.inputs[other])] != root)
        continue;
      const Placed& o = placed(n.inputs[other]);
      if (n.op != Op::pointwise || o.at != p.at || o.view.strides != p.view.strides ||
          !std::ranges::equal(o.view.shape(), p.view.shape()))
        return false;
    }
    for (std::size_t before = 0; before < k; ++before) {  // another output has it already
      if (n.outputs[before] != kNoValue && root_of_[static_cast<std::size_t>(n.outputs[before])] == root) return false;
    }
    return true;
  }

  /// The operand that output `k` can overwrite, or -1.
  int overwritten(std::uint32_t i, const Node& n, const Kernel& kernel, std::size_t k, const TensorView& out) {
    if (kernel.in_place_of != nullptr) {
      const int from = kernel.in_place_of(f_.nodes[i], k);
      return from >= 0 && can_overwrite(i, n, k, static_cast<std::size_t>(from), out) ? from : -1;
    }
    if (k != 0 || kernel.in_place < 0) return -1;
    const auto first = static_cast<std::size_t>(kernel.in_place);
    const std::size_t end = n.op == Op::pointwise ? n.inputs.size() : first + 1;
    for (std::size_t from = first; from < end; ++from) {
      if (can_overwrite(i, n, k, from, out)) return static_cast<int>(from);
    }
    return -1;
  }

  /// Gives a result the strides with which the permutation that alone reads it is contiguous.
  void lie_for_reader(ValueId v, TensorView& view) {
    const std::int32_t reader = facts_.permuted_by[static_cast<std::size_t>(v)];
    if (reader < 0) return;
    const Dims& axes = f_.nodes[static_cast<std::size_t>(reader)].dims(AttrKey::axes);
    const auto axis = [&](std::size_t i) {
      const std::int64_t a = axes[i].value();
      return static_cast<std::size_t>(a < 0 ? a + view.rank : a);
    };
    if (axes.empty() || axis(axes.size() - 1) + 1 != axes.size()) return;
    std::int64_t stride = 1;
    for (std::size_t i = axes.size(); i-- > 0; stride *= std::max<std::int64_t>(1, view.sizes[axis(i)]))
      view.strides[axis(i)] = stride;
  }

  void plan_work(std::uint32_t i, const Node& n, bool control) {
    const Kernel& kernel = r_.prepared->kernels->kernels[static_cast<std::size_t>(n.op)];
    const bool has_kernel = !has_trait(n.op, Trait::host);
    const bool last = has_kernel && makes_channels_last(i, n, kernel);
    std::vector<std::pair<Placed, std::int32_t>> inputs;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (n.inputs[k] == kNoValue) {
        inputs.push_back({Placed{}, -1});
      } else if (last && k == 0 && n.op != Op::pointwise && (kernel.strided & 1) == 0) {
        inputs.push_back(channels_last(n.inputs[k], i));
      } else if (has_kernel && (kernel.strided >> std::min<std::size_t>(k, 31) & 1) != 0) {
        inputs.push_back({placed(n.inputs[k]), root_of_[static_cast<std::size_t>(n.inputs[k])]});
      } else {
        inputs.push_back(contiguous(n.inputs[k], i));
      }
    }
    const std::size_t args = plan_.args.size();
    std::vector<std::pair<Placed, std::int32_t>> outputs;
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      const ValueId v = n.outputs[k];
      if (v == kNoValue) {
        outputs.push_back({Placed{}, -1});
      } else if (!concrete_.known(type(v))) {                           // the kernel will say how large
        if (n.dims(AttrKey::symbols).empty()) concrete_.view(type(v));  // fails: nobody will
        Placed p;
        p.view.dtype = type(v).dtype;
        p.view.rank = type(v).rank();
        p.at = {Location::Kind::dynamic, static_cast<std::uint32_t>(v), 0};
        outputs.push_back({p, -1});
      } else {
        TensorView view = concrete_.view(type(v));
        if (last) {
          make_channels_last(view);
        } else if (has_kernel && kernel.result_strided && k == 0) {
          lie_for_reader(v, view);
        }
        const int from = has_kernel ? overwritten(i, n, kernel, k, view) : -1;
        std::int32_t root = -1;
        std::int64_t offset = 0;
        if (from >= 0) {
          const ValueId taken = n.inputs[static_cast<std::size_t>(from)];
          root = root_of_[static_cast<std::size_t>(taken)];
          offset = placed(taken).at.offset;
        } else {
          root = new_block(view_bytes(type(v), view));
        }
        place(v, view, offset, root);
        outputs.push_back({placed(v), root});
      }
    }
    if (last && n.op == Op::pointwise) {  // axes mean nothing to it: in this order its result is contiguous
      const int rank = outputs[0].first.view.rank;
      for (auto& [p, root] : inputs) p.view = in_channels_last_order(p.view, rank);
      for (auto& [p, root] : outputs) p.view = in_channels_last_order(p.view, rank);
    }
    for (const auto& [p, root] : inputs) add_arg(p, root);
    for (const auto& [p, root] : outputs) add_arg(p, root);
    Step& s = add_step(control                   ? Step::Kind::control
                       : n.op == Op::item        ? Step::Kind::item
                       : n.op == Op::assert_true ? Step::Kind::assert_true
                                                 : Step::Kind::kernel,
                       i);
    s.args = static_cast<std::uint32_t>(args);
    s.inputs = static_cast<std::uint32_t>(inputs.size());
    s.outputs = static_cast<std::uint32_t>(outputs.size());
    s.resolved = &n;
    s.kernel = has_kernel ? &kernel : nullptr;
  }

  /// Results, then write-backs: results that lie in memory which a write-back will change are copied first.
  void finish_function() {
    const auto end = f_.nodes.empty() ? 0u : static_cast<std::uint32_t>(f_.nodes.size() - 1);
    struct Pending {
      ValueId value;
      Placed from, to;
      std::int32_t from_root, to_root;
    };
    std::vector<Pending> pending;
    std::vector<Location> changed;
    for (const WriteBack& w : f_.writebacks) {
      const bool state = w.target == WriteBack::Target::state;
      Placed to;
      to.at = {state ? Location::Kind::state : Location::Kind::input, w.index, 0};
      if (state) {
        to.view = state_view(program_.states[w.index]);
      } else {
        to.view = placed(f_.inputs[w.index].value).view;
      }
      const Placed& from = placed(w.value);
      if (!std::ranges::equal(from.view.shape(), to.view.shape())) {
        fail(
            ErrorCode::runtime,
            fmt::format("a value of {} is written back to {} '{}' of {}", text_of(from.view), state ? "state" : "input",
                        state ? program_.states[w.index].name : f_.inputs[w.index].name, text_of(to.view)));
      }
      if (from.at == to.at && from.view.strides == to.view.strides &&
          std::ranges::equal(from.view.shape(), to.view.shape()))
        continue;
      pending.push_back({w.value, from, to, root_of_[static_cast<std::size_t>(w.value)], -1});
      changed.push_back(to.at);
    }
    auto will_change = [&](const Location& at) {
      return std::ranges::any_of(changed, [&](const Location& c) { return c.kind == at.kind && c.index == at.index; });
    };
    for (const FunctionOutput& o : f_.outputs) {
      if (o.value == kNoValue) {
        plan_.outputs.push_back({});
        continue;
      }
      const Location& at = placed(o.value).at;
      const bool outside = at.kind == Location::Kind::input || at.kind == Location::Kind::state;
      auto [place, root] = contiguous(o.value, end, will_change(at) || (outside && !f_.entry));
      if (root >= 0 && roots_[static_cast<std::size_t>(root)].block >= 0)
        blocks_[static_cast<std::size_t>(roots_[static_cast<std::size_t>(root)].block)].last = kForever;
      plan_.outputs.push_back(place);
      output_root_.push_back(root);
    }
    for (Pending& p : pending) {
      if (!will_change(p.from.at)) continue;
      Placed staged{p.from.view, {}};
      make_contiguous(staged.view);
      const std::int32_t block = new_block(view_bytes(type(p.value), staged.view));
      staged.at = roots_[static_cast<std::size_t>(block)].at;
      blocks_[static_cast<std::size_t>(roots_[static_cast<std::size_t>(block)].block)].last = kForever;
      add_copy(end, p.value, p.from, p.from_root, staged, block);
      p.from = staged;
      p.from_root = block;
    }
    for (const Pending& p : pending) add_copy(end, p.value, p.from, p.from_root, p.to, p.to_root);
  }

  void pack_blocks() {
    plan_.arena_bytes = pack(blocks_);
    auto settle = [&](Location& at, std::int32_t root) {
      if (root >= 0 && roots_[static_cast<std::size_t>(root)].block >= 0) {
        at.offset += static_cast<std::int64_t>(
            blocks_[static_cast<std::size_t>(roots_[static_cast<std::size_t>(root)].block)].offset);
      }
    };
    for (std::size_t i = 0; i < plan_.args.size(); ++i) settle(plan_.locations[i], arg_root_[i]);
    for (ValueId v : made_) settle(placed(v).at, root_of_[static_cast<std::size_t>(v)]);
    for (std::size_t i = 0, k = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].at.kind != Location::Kind::none) settle(plan_.outputs[i].at, output_root_[k++]);
    }
    find_output_args();
  }

  /// Fills in Plan::output_args.
  void find_output_args() {
    plan_.output_args.resize(plan_.outputs.size());
    std::vector<std::int32_t> output_of(roots_.size(), -1);  // -2: of several
    for (std::size_t i = 0, k = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].at.kind == Location::Kind::none) continue;
      const auto root = static_cast<std::size_t>(output_root_[k++]);
      if (root >= roots_.size() || roots_[root].block < 0) continue;
      const TensorView& view = plan_.outputs[i].view;
      const Block& block = blocks_[static_cast<std::size_t>(roots_[root].block)];
      const bool whole = plan_.outputs[i].at.offset == static_cast<std::int64_t>(block.offset) && view.contiguous() &&
                         elements_per_byte(view.dtype) == 1 &&
                         static_cast<std::uint64_t>(view.numel() * element_size(view.dtype)) == roots_[root].bytes;
      output_of[root] = whole && output_of[root] == -1 ? static_cast<std::int32_t>(i) : -2;
    }
    for (std::uint32_t a = 0; a < plan_.args.size(); ++a) {
      const std::int32_t i = arg_root_[a] < 0 ? -1 : output_of[static_cast<std::size_t>(arg_root_[a])];
      if (i >= 0) plan_.output_args[static_cast<std::size_t>(i)].push_back(a);
    }
  }

  /// The storage that argument `i` lies in if its bytes never change, else -1.
  std::int64_t constant_storage(std::size_t i) const {
    return plan_.constant[i] ? static_cast<std::int64_t>(program_.states[plan_.locations[i].index].storage) : -1;
  }

  void prepare_kernels() {
    std::set<std::int64_t> read, packed;  // storages
    std::uint64_t table_bytes = 0;
    for (Step& s : plan_.steps) {
      const bool defers = s.kernel != nullptr && s.kernel->defers_weights;
      for (std::uint32_t i = 0; i < s.inputs && !defers; ++i) fetch(s.args + i, read);
      if (s.kernel == nullptr || (s.kernel->scratch == nullptr && s.kernel->prepare == nullptr)) continue;
      StepWeights weights(*r_.prepared, plan_, s);
      KernelCall call = s.call(plan_.args.data() + s.args, plan_.constant.get() + s.args);
      call.weights = &weights;
      call.device = r_.launcher;
      call.way = r_.prepared->way(r_.function, s.node, r_.threads);
      try {
        if (s.kernel->prepare != nullptr) s.state = s.kernel->prepare(call);
        call.state = s.state.get();
        table_bytes += call.state == nullptr ? 0 : call.state->table_bytes;
        RunLimits().check_memory(table_bytes, r_.prepared->options);
        if (s.kernel->scratch != nullptr) s.scratch = s.kernel->scratch(call);
      } catch (const std::bad_alloc&) {
        fail(ErrorCode::out_of_memory, describe(*r_.prepared, r_.function, s.node) + ": no memory for its tables");
      } catch (const Error& e) {
        fail(e.code(), describe(*r_.prepared, r_.function, s.node) + ": " + e.what());
      }
      if (r_.prepared->observer != nullptr && !s.kernel->ways.empty() && s.state != nullptr)
        r_.prepared->observer->prepared(r_.function, s.number, *s.kernel, call, s.state->way);
      plan_.scratch_bytes = std::max(plan_.scratch_bytes, s.scratch);
      for (std::uint32_t i = 0; i < s.inputs && defers; ++i) {
        const bool unread = s.state != nullptr && (s.state->unread >> std::min(i, 31u) & 1) != 0;
        if (!unread) {
          fetch(s.args + i, read);
        } else if (constant_storage(s.args + i) >= 0) {
          packed.insert(constant_storage(s.args + i));
        }
      }
    }
    // Packed weights without another reader need not stay in memory.
    for (std::int64_t storage : packed) {
      if (!read.contains(storage)) program_.source->release(static_cast<std::uint32_t>(storage));
    }
  }

  /// Brings a constant argument's bytes in and has their hash checked.
  void fetch(std::size_t arg, std::set<std::int64_t>& read) {
    const std::int64_t storage = constant_storage(arg);
    if (storage >= 0 && read.insert(storage).second) program_.source->bytes(static_cast<std::uint32_t>(storage));
  }

  PlanRequest r_;
  const Program& program_;
  const Function& f_;
  const FunctionFacts& facts_;
  Concrete concrete_;
  Plan plan_;
  std::vector<Block> blocks_;
  std::vector<Root> roots_;
  std::vector<std::uint32_t> last_use_;    ///< as FunctionFacts has it, or later
  std::vector<std::int32_t> root_of_;      ///< for each value
  std::vector<std::int32_t> arg_root_;     ///< for each of plan_.args
  std::vector<std::int32_t> output_root_;  ///< for each present output
  std::vector<ValueId> made_;
  std::vector<bool> checked_;  ///< for the first node of each form: its shape rule holds
  std::shared_ptr<const std::vector<Part>> parts_;
  std::vector<std::int32_t> part_of_;  ///< for each node of the section
};

}  // namespace

Plan make_plan(PlanRequest request) {
  return Planner(std::move(request)).make();
}

}  // namespace tern
