#include "runtime/fuse/batched_attention.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "schema/def_use.h"
#include "schema/pointwise.h"

namespace tern {
namespace {

enum { kQuery, kKey, kValue, kMask, kOperands };  // operands of attention

/// The loop's inputs used as attention operands, and the attention node.
struct TextLoop {
  std::array<ValueId, kOperands> operands{};
  const Node* attention = nullptr;
  const Node* has_text = nullptr;  ///< pointwise: true if the slot has a row
};

/// Values of a body and the nodes that compute them.
class BodyValues {
 public:
  explicit BodyValues(const Function& f) : f_(f), uses_(f) {}
  const Node* producer(ValueId v) const { return uses_.producing_node(f_, v); }
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }
  /// Number of the body's input; -1 for other values.
  std::int64_t input(ValueId v) const {
    const auto found = std::ranges::find(f_.inputs, v, &FunctionInput::value);
    return found == f_.inputs.end() ? -1 : found - f_.inputs.begin();
  }
  /// Skips nodes of `op` above `v`.
  ValueId behind(ValueId v, Op op) const {
    for (const Node* n = producer(v); n != nullptr && n->op == op; n = producer(v)) v = n->inputs[0];
    return v;
  }
  /// Skips slices beginning at the first element.
  ValueId behind_slices(ValueId v) const {
    for (const Node* n = producer(v); n != nullptr && n->op == Op::slice; n = producer(v)) {
      if (!n->dim(AttrKey::start).is(0) || n->integer(AttrKey::step) != 1) return v;
      v = n->inputs[0];
    }
    return v;
  }

 private:
  const Function& f_;
  DefUse uses_;
};

/// Returns the number of the input indexed by `input 0` to produce `v`; -1 for other values.
std::int64_t selected(const BodyValues& b, ValueId v) {
  const Node* n = b.producer(b.behind(v, Op::reshape));
  if (n == nullptr || n->op != Op::index_select || n->integer(AttrKey::axis) != 0) return -1;
  return b.input(b.behind(n->inputs[1], Op::reshape)) == 0 ? b.input(n->inputs[0]) : -1;
}

bool is_plain(const Function& f) {
  constexpr std::array kOps = {Op::reshape, Op::index_select, Op::item, Op::slice, Op::attention};
  return std::ranges::all_of(f.nodes, [&](const Node& n) { return std::ranges::find(kOps, n.op) != kOps.end(); });
}

bool is_zeros(const Function& f) {
  return f.nodes.size() == 1 && f.nodes[0].op == Op::full && f.outputs.size() == 1 &&
         f.outputs[0].value == f.nodes[0].outputs[0] && f.nodes[0].number_at(AttrKey::value, 0) == 0;
}

/// True for the test of an int64 row number against 0: negative rows select nothing.
bool is_row_test(const BodyValues& b, const Node& n) {
  if (n.inputs.size() != 1 || b.input(n.inputs[0]) != 0 || b.type(n.inputs[0]).dtype != DType::i64) return false;
  const std::vector<Instruction>& code = n.expr.code;
  if (code.empty() || code.back().op != Scalar::ge) return false;
  const Instruction &x = code[code.back().a], &least = code[code.back().b];
  return x.op == Scalar::load && least.op == Scalar::constant && least.dtype == DType::i64 && least.integer == 0;
}

/// True for a single sequence with as many axes as the result.
bool is_one(const TensorType& t, const TensorType& result) {
  return t.rank() == result.rank() && t.rank() > 2 && t.shape[0].is(1);
}

/// Matches an attention loop at `n`.
std::optional<TextLoop> text_loop(const Program& program, const Node& n) {
  if (n.op != Op::map_loop || n.outputs.size() != 1 || n.outputs[0] == kNoValue) return std::nullopt;
  const Function& body = program.functions[n.functions[0]];
  if (body.nodes.size() != 2 || body.nodes[0].op != Op::pointwise || body.nodes[1].op != Op::cond) return std::nullopt;
  const Node &test = body.nodes[0], &choice = body.nodes[1];
  const Function &text = program.functions[choice.functions[0]], &idle = program.functions[choice.functions[1]];
  const BodyValues outer(body), b(text);
  if (!is_row_test(outer, test) || choice.inputs[0] != test.outputs[0] ||
      choice.inputs.size() != body.inputs.size() + 1 || text.inputs.size() != body.inputs.size() ||
      body.outputs.size() != 1 || body.outputs[0].value != choice.outputs[0])
    return std::nullopt;
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    if (choice.inputs[i + 1] != body.inputs[i].value) return std::nullopt;
  if (!is_plain(text) || !is_zeros(idle) || text.outputs.size() != 1) return std::nullopt;
  TextLoop loop{{}, b.producer(text.outputs[0].value), &test};
  if (loop.attention == nullptr || loop.attention->op != Op::attention || loop.attention->inputs.size() <= kMask ||
      loop.attention->inputs[kMask] == kNoValue || loop.attention->integer(AttrKey::causal) != 0)
    return std::nullopt;
  const std::int64_t mapped = n.integer(AttrKey::mapped);
  const TensorType& result = b.type(text.outputs[0].value);
  for (const int k : {kQuery, kKey, kValue, kMask}) {
    const ValueId v = b.behind_slices(loop.attention->inputs[static_cast<std::size_t>(k)]);
    const bool of_slot = k == kKey || k == kValue;
    const std::int64_t input = of_slot ? b.input(v) : selected(b, v);
    if (input <= 0 || (input < mapped) != of_slot || !is_one(b.type(v), result)) return std::nullopt;
    Dims whole = b.type(text.inputs[static_cast<std::size_t>(input)].value).shape;
    if (!of_slot) whole.erase(whole.begin());  // shape of all sequences
    if (whole != b.type(v).shape) return std::nullopt;
    loop.operands[static_cast<std::size_t>(k)] = n.inputs[static_cast<std::size_t>(input)];
  }
  return b.type(loop.attention->inputs[kMask]).dtype == DType::boolean ? std::optional(loop) : std::nullopt;
}

class Rewrite {
 public:
  Rewrite(const Program& program, Function& f) : program_(program), f_(f) {}

  std::vector<std::uint32_t> run() {
    std::vector<Node> old = std::move(f_.nodes);
    f_.nodes.clear();
    for (std::uint32_t i = 0; i < old.size(); ++i) {
      number_ = i;
      if (const auto loop = text_loop(program_, old[i])) {
        replace(old[i], *loop);
      } else {
        add(std::move(old[i]));
      }
    }
    return std::move(numbers_);
  }

 private:
  /// Data shared by all layers: each slot's row of the run (row 0 for empty slots), and the mask.
  struct Slots {
    ValueId row, mask;
  };

  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }

  void add(Node n) {
    f_.nodes.push_back(std::move(n));
    numbers_.push_back(number_);
  }
  ValueId value(TensorType type) {
    f_.values.push_back({std::move(type), {}});
    return static_cast<ValueId>(f_.values.size() - 1);
  }
  ValueId add(Op op, std::vector<ValueId> inputs, TensorType type, PointwiseExpr expr = {}) {
    Node n;
    n.op = op;
    n.inputs = std::move(inputs);
    n.expr = std::move(expr);
    const ValueId result = value(std::move(type));
    n.outputs = {result};
    add(std::move(n));
    return result;
  }
  ValueId reshape(ValueId v, Dims shape) {
    if (type(v).shape == shape) return v;
    const ValueId result = add(Op::reshape, {v}, {type(v).dtype, shape});
    f_.nodes.back().set(AttrKey::sizes, std::move(shape));
    return result;
  }
  /// Gathers rows `at` of v, one sequence each: [slots, the other axes].
  ValueId rows(ValueId v, ValueId at, const Dims& text) {
    Dims shape = type(v).shape;
    shape[0] = type(at).shape[0];
    const ValueId result = add(Op::index_select, {v, at}, {type(v).dtype, std::move(shape)});
    f_.nodes.back().set(AttrKey::axis, Dims{Dim(0)});
    return reshape(result, with_slots(text, type(at).shape[0]));
  }
  static Dims with_slots(const Dims& text, Dim slots) {
    Dims shape = text;
    shape[0] = slots;
    return shape;
  }

  /// Computes max(row, 0), and mask and (row >= 0).
  Slots slots(const TextLoop& loop, ValueId row) {
    const auto [found, is_new] = slots_.try_emplace({row, loop.operands[kMask]});
    if (!is_new) return found->second;
    const Dim count = type(row).shape[0];
    const auto load = [](std::int64_t k, DType t) {
      Instruction i{Scalar::load, t};
      i.integer = k;
      return i;
    };
    PointwiseExpr first;
    first.code = {load(0, DType::i64), {Scalar::constant, DType::i64}, {Scalar::max, DType::i64, 0, 1}};
    PointwiseExpr both;
    both.code = {load(0, DType::boolean), load(1, DType::boolean), {Scalar::min, DType::boolean, 0, 1}};
    const ValueId at = add(Op::pointwise, {row}, type(row), std::move(first)),
                  there = add(Op::pointwise, {row}, {DType::boolean, {count}}, loop.has_text->expr);
    Dims text = type(loop.operands[kMask]).shape;  // [sequences, 1, ...]: drops the sequence's own first axis
    text.erase(text.begin() + 1);
    const ValueId mask = rows(loop.operands[kMask], at, text);
    const ValueId of_slot = reshape(there, with_slots(Dims(text.size(), Dim(1)), count));
    found->second = {at, add(Op::pointwise, {mask, of_slot}, type(mask), std::move(both))};
    return found->second;
  }

  void replace(const Node& n, const TextLoop& loop) {
    const auto [row, mask] = slots(loop, n.inputs[0]);
    const auto without_text = [&](int k) {  // [slots or sequences, 1, ...] reduced to one sequence: [1, ...]
      Dims shape = type(loop.operands[static_cast<std::size_t>(k)]).shape;
      shape.erase(shape.begin());
      return shape;
    };
    const Dim count = type(row).shape[0];
    Node attention = *loop.attention;
    attention.inputs = {rows(loop.operands[kQuery], row, without_text(kQuery)),
                        reshape(loop.operands[kKey], with_slots(without_text(kKey), count)),
                        reshape(loop.operands[kValue], with_slots(without_text(kValue), count)), mask};
    Dims result = type(n.outputs[0]).shape;
    result.erase(result.begin() + 1);
    const ValueId made = value({type(n.outputs[0]).dtype, result});
    attention.outputs = {made};
    add(std::move(attention));
    Node last;
    last.op = Op::reshape;
    last.inputs = {made};
    last.outputs = n.outputs;
    last.set(AttrKey::sizes, type(n.outputs[0]).shape);
    add(std::move(last));
  }

  const Program& program_;
  Function& f_;
  std::vector<std::uint32_t> numbers_;
  std::uint32_t number_ = 0;
  std::map<std::pair<ValueId, ValueId>, Slots> slots_;
};

}  // namespace

std::vector<std::uint32_t> batch_attention(const Program& program, Function& f) {
  return Rewrite(program, f).run();
}

}  // namespace tern
