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

enum { kQuery, kKey, kValue, kMask, kOperands };  // positions of attention's operands, and their number

/// A matched loop over batch slots. A "text" is a slot's sequence.
struct TextLoop {
  std::array<ValueId, kOperands> operands{};  ///< the loop's inputs that attention reads
  const Node* attention = nullptr;
  const Node* row_test = nullptr;  ///< pointwise: true if the slot's row number is at least 0
};

/// Values of a body and the nodes that compute them.
class BodyValues {
 public:
  explicit BodyValues(const Function& f) : f_(f), def_use_(f) {}
  const Node* producer(ValueId v) const { return def_use_.producing_node(f_, v); }
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }
  /// Number of the body's input; -1 for other values.
  std::int64_t input(ValueId v) const {
    const auto found = std::ranges::find(f_.inputs, v, &FunctionInput::value);
    return found == f_.inputs.end() ? -1 : found - f_.inputs.begin();
  }
  /// Returns the value from which nodes of `op` alone compute `v`.
  ValueId skip_nodes(ValueId v, Op op) const {
    for (const Node* n = producer(v); n != nullptr && n->op == op; n = producer(v)) v = n->inputs[0];
    return v;
  }
  /// Returns the value of which `v` is a slice (or a slice of slices) from the first element.
  ValueId skip_slices(ValueId v) const {
    for (const Node* n = producer(v); n != nullptr && n->op == Op::slice; n = producer(v)) {
      if (!n->dim(AttrKey::start).is(0) || n->integer(AttrKey::step) != 1) return v;
      v = n->inputs[0];
    }
    return v;
  }

 private:
  const Function& f_;
  DefUse def_use_;
};

/// Returns the number of the input from which index_select by input 0 (the row) produces `v`; -1 for other values.
std::int64_t selected_input(const BodyValues& body, ValueId v) {
  const Node* n = body.producer(body.skip_nodes(v, Op::reshape));
  if (n == nullptr || n->op != Op::index_select || n->integer(AttrKey::axis) != 0) return -1;
  return body.input(body.skip_nodes(n->inputs[1], Op::reshape)) == 0 ? body.input(n->inputs[0]) : -1;
}

bool has_expected_ops(const Function& f) {
  constexpr std::array kOps = {Op::reshape, Op::index_select, Op::item, Op::slice, Op::attention};
  return std::ranges::all_of(f.nodes, [&](const Node& n) { return std::ranges::find(kOps, n.op) != kOps.end(); });
}

bool is_zeros(const Function& f) {
  return f.nodes.size() == 1 && f.nodes[0].op == Op::full && f.outputs.size() == 1 &&
         f.outputs[0].value == f.nodes[0].outputs[0] && f.nodes[0].number_at(AttrKey::value, 0) == 0;
}

/// True for the test of an int64 row number against 0: negative rows select nothing.
bool is_row_test(const BodyValues& body, const Node& n) {
  if (n.inputs.size() != 1 || body.input(n.inputs[0]) != 0 || body.type(n.inputs[0]).dtype != DType::i64) return false;
  const std::vector<Instruction>& code = n.expr.code;
  if (code.empty() || code.back().op != Scalar::ge) return false;
  const Instruction &x = code[code.back().a], &bound = code[code.back().b];
  return x.op == Scalar::load && bound.op == Scalar::constant && bound.dtype == DType::i64 && bound.integer == 0;
}

/// True for a single sequence with as many axes as the result.
bool is_single_sequence(const TensorType& t, const TensorType& result) {
  return t.rank() == result.rank() && t.rank() > 2 && t.shape[0].is(1);
}

/// Matches an attention loop at `n`.
std::optional<TextLoop> match_attention_loop(const Program& program, const Node& n) {
  if (n.op != Op::map_loop || n.outputs.size() != 1 || n.outputs[0] == kNoValue) return std::nullopt;
  const Function& body = program.functions[n.functions[0]];
  if (body.nodes.size() != 2 || body.nodes[0].op != Op::pointwise || body.nodes[1].op != Op::cond) return std::nullopt;
  const Node &row_test = body.nodes[0], &cond = body.nodes[1];
  const Function &text = program.functions[cond.functions[0]], &empty_slot = program.functions[cond.functions[1]];
  const BodyValues loop_body(body), sequence_body(text);
  if (!is_row_test(loop_body, row_test) || cond.inputs[0] != row_test.outputs[0] ||
      cond.inputs.size() != body.inputs.size() + 1 || text.inputs.size() != body.inputs.size() ||
      body.outputs.size() != 1 || body.outputs[0].value != cond.outputs[0])
    return std::nullopt;
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    if (cond.inputs[i + 1] != body.inputs[i].value) return std::nullopt;
  if (!has_expected_ops(text) || !is_zeros(empty_slot) || text.outputs.size() != 1) return std::nullopt;
  TextLoop loop{{}, sequence_body.producer(text.outputs[0].value), &row_test};
  if (loop.attention == nullptr || loop.attention->op != Op::attention || loop.attention->inputs.size() <= kMask ||
      loop.attention->inputs[kMask] == kNoValue || loop.attention->integer(AttrKey::causal) != 0)
    return std::nullopt;
  const std::int64_t mapped = n.integer(AttrKey::mapped);
  const TensorType& result = sequence_body.type(text.outputs[0].value);
  for (const int k : {kQuery, kKey, kValue, kMask}) {
    const ValueId v = sequence_body.skip_slices(loop.attention->inputs[static_cast<std::size_t>(k)]);
    const bool is_per_slot = k == kKey || k == kValue;
    const std::int64_t input = is_per_slot ? sequence_body.input(v) : selected_input(sequence_body, v);
    if (input <= 0 || (input < mapped) != is_per_slot || !is_single_sequence(sequence_body.type(v), result))
      return std::nullopt;
    Dims operand_shape = sequence_body.type(text.inputs[static_cast<std::size_t>(input)].value).shape;
    if (!is_per_slot) operand_shape.erase(operand_shape.begin());  // shape of all sequences
    if (operand_shape != sequence_body.type(v).shape) return std::nullopt;
    loop.operands[static_cast<std::size_t>(k)] = n.inputs[static_cast<std::size_t>(input)];
  }
  return sequence_body.type(loop.attention->inputs[kMask]).dtype == DType::boolean ? std::optional(loop) : std::nullopt;
}

class Rewrite {
 public:
  Rewrite(const Program& program, Function& f) : program_(program), f_(f) {}

  std::vector<std::uint32_t> run() {
    std::vector<Node> nodes = std::move(f_.nodes);
    f_.nodes.clear();
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      old_position_ = i;
      if (const auto loop = match_attention_loop(program_, nodes[i])) {
        replace(nodes[i], *loop);
      } else {
        add(std::move(nodes[i]));
      }
    }
    return std::move(old_positions_);
  }

 private:
  /// Data shared by all layers: each slot's row of the run (row 0 for empty slots), and the mask.
  struct Slots {
    ValueId row, mask;
  };

  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }

  void add(Node n) {
    f_.nodes.push_back(std::move(n));
    old_positions_.push_back(old_position_);
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
  /// Gathers each slot's sequence, row `row` of v: [slots, the axes of `text` after the first].
  ValueId gather_sequences(ValueId v, ValueId row, const Dims& text) {
    Dims shape = type(v).shape;
    shape[0] = type(row).shape[0];
    const ValueId result = add(Op::index_select, {v, row}, {type(v).dtype, std::move(shape)});
    f_.nodes.back().set(AttrKey::axis, Dims{Dim(0)});
    return reshape(result, resize_first_axis(text, type(row).shape[0]));
  }
  static Dims resize_first_axis(const Dims& text, Dim slot_count) {
    Dims shape = text;
    shape[0] = slot_count;
    return shape;
  }

  /// Computes max(row, 0), and mask and (row >= 0).
  Slots slot_values(const TextLoop& loop, ValueId row) {
    const auto [found, is_new] = slots_.try_emplace({row, loop.operands[kMask]});
    if (!is_new) return found->second;
    const Dim slot_count = type(row).shape[0];
    const auto load = [](std::int64_t k, DType t) {
      Instruction i{Scalar::load, t};
      i.integer = k;
      return i;
    };
    PointwiseExpr clamp_expr;
    clamp_expr.code = {load(0, DType::i64), {Scalar::constant, DType::i64}, {Scalar::max, DType::i64, 0, 1}};
    PointwiseExpr and_expr;
    and_expr.code = {load(0, DType::boolean), load(1, DType::boolean), {Scalar::min, DType::boolean, 0, 1}};
    const ValueId clamped_row = add(Op::pointwise, {row}, type(row), std::move(clamp_expr)),
                  has_row = add(Op::pointwise, {row}, {DType::boolean, {slot_count}}, loop.row_test->expr);
    Dims text = type(loop.operands[kMask]).shape;  // [sequences, 1, ...]: drops the sequence's own first axis
    text.erase(text.begin() + 1);
    const ValueId mask = gather_sequences(loop.operands[kMask], clamped_row, text);
    const ValueId slot_mask = reshape(has_row, resize_first_axis(Dims(text.size(), Dim(1)), slot_count));
    found->second = {clamped_row, add(Op::pointwise, {mask, slot_mask}, type(mask), std::move(and_expr))};
    return found->second;
  }

  void replace(const Node& n, const TextLoop& loop) {
    const auto [row, mask] = slot_values(loop, n.inputs[0]);
    const auto sequence_shape = [&](int k) {  // [slots or sequences, 1, ...] reduced to one sequence: [1, ...]
      Dims shape = type(loop.operands[static_cast<std::size_t>(k)]).shape;
      shape.erase(shape.begin());
      return shape;
    };
    const Dim slot_count = type(row).shape[0];
    Node attention = *loop.attention;
    attention.inputs = {gather_sequences(loop.operands[kQuery], row, sequence_shape(kQuery)),
                        reshape(loop.operands[kKey], resize_first_axis(sequence_shape(kKey), slot_count)),
                        reshape(loop.operands[kValue], resize_first_axis(sequence_shape(kValue), slot_count)), mask};
    Dims result = type(n.outputs[0]).shape;
    result.erase(result.begin() + 1);
    const ValueId batched_result = value({type(n.outputs[0]).dtype, result});
    attention.outputs = {batched_result};
    add(std::move(attention));
    Node restore_axis;
    restore_axis.op = Op::reshape;
    restore_axis.inputs = {batched_result};
    restore_axis.outputs = n.outputs;
    restore_axis.set(AttrKey::sizes, type(n.outputs[0]).shape);
    add(std::move(restore_axis));
  }

  const Program& program_;
  Function& f_;
  std::vector<std::uint32_t> old_positions_;
  std::uint32_t old_position_ = 0;
  std::map<std::pair<ValueId, ValueId>, Slots> slots_;
};

}  // namespace

std::vector<std::uint32_t> batch_attention(const Program& program, Function& f) {
  return Rewrite(program, f).run();
}

}  // namespace tern
