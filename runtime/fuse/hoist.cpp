#include "runtime/fuse/hoist.h"

#include <algorithm>
#include <utility>

#include "runtime/fuse/expression.h"

namespace tern {
namespace {

constexpr std::int64_t kFewest = 64;  // fewest elements of a row: an extra node costs as much as some elements

/// Operations worth a node. Other operations take less time than reading their value.
bool is_costly(Scalar op) {
  switch (op) {
    case Scalar::load:
    case Scalar::constant:
    case Scalar::convert:
    case Scalar::index:
    case Scalar::bitcast:
    case Scalar::add:
    case Scalar::sub:
    case Scalar::mul:
    case Scalar::fma:
    case Scalar::neg:
    case Scalar::abs:
    case Scalar::min:
    case Scalar::max: return false;
    default: return true;
  }
}

class RowInvariants {
 public:
  RowInvariants(Function& f, const Node& n) : f_(f), n_(n), shape_(type(n.outputs[0]).shape) {
    if (shape_.empty() || !shape_.back().is_const() || shape_.back().value() < kFewest) return;
    const std::vector<Instruction>& code = n.expr.code;
    once_.resize(code.size());
    worth_.resize(code.size());
    for (std::size_t i = 0; i < code.size(); ++i) {
      const Instruction& c = code[i];
      const std::uint16_t operands[] = {c.a, c.b, c.c};
      const int count = scalar_info(c.op).operands;
      once_[i] = c.op == Scalar::load ? is_of_rows(n.inputs[static_cast<std::size_t>(c.integer)])
                                      : c.op != Scalar::index && c.op != Scalar::bitcast;
      // A value common to all rows is computed only once anyway.
      bool any = c.op == Scalar::load && has_rows(n.inputs[static_cast<std::size_t>(c.integer)]);
      for (int k = 0; k < count; ++k) {
        once_[i] = once_[i] && once_[operands[k]];
        worth_[i] = worth_[i] || worth_[operands[k]];
        any = any || depends_on_row_[operands[k]];
      }
      depends_on_row_.push_back(any);
      worth_[i] = worth_[i] || is_costly(c.op);
    }
  }

  /// Returns costly per-row instructions with readers outside the per-row computation.
  std::vector<std::size_t> found() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i + 1 < once_.size(); ++i) {
      if (once_[i] && worth_[i] && depends_on_row_[i] && is_plain(n_.expr.code[i].dtype) && read_by_elements(i))
        all.push_back(i);
    }
    return all;
  }

  /// Creates the node for instruction `i`.
  Node node(std::size_t i) {
    Node made;
    made.op = Op::pointwise;
    made.origin = n_.origin;
    made.inputs = n_.inputs;
    made.expr.code.assign(n_.expr.code.begin(), n_.expr.code.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    keep_read(made);
    Dims shape;
    for (ValueId v : made.inputs) {
      const Dims& own = type(v).shape;
      if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), Dim(1));
      for (std::size_t d = 0; d < own.size(); ++d) {
        Dim& to = shape[shape.size() - own.size() + d];
        if (!own[d].is(1)) to = own[d];
      }
    }
    f_.values.push_back({{n_.expr.code[i].dtype, shape}, {}});
    made.outputs = {static_cast<ValueId>(f_.values.size() - 1)};
    return made;
  }

  /// Rewrites the node with the values of these instructions as operands.
  Node reading(const std::vector<std::size_t>& instructions, const std::vector<ValueId>& values) const {
    Node n = n_;
    for (std::size_t k = 0; k < values.size(); ++k) {
      Instruction load{Scalar::load, n.expr.code[instructions[k]].dtype};
      load.integer = std::ssize(n.inputs);
      n.expr.code[instructions[k]] = load;
      n.inputs.push_back(values[k]);
    }
    keep_read(n);
    const auto says_sizes = [&](ValueId v) { return type(v).shape == shape_; };
    if (!n.has(AttrKey::sizes) && std::ranges::none_of(n.inputs, says_sizes)) n.set(AttrKey::sizes, shape_);
    return n;
  }

 private:
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }
  static bool is_plain(DType t) { return t == DType::f32 || t == DType::f64; }

  bool has_rows(ValueId v) const {
    return std::ranges::any_of(type(v).shape, [](Dim d) { return !d.is(1); });
  }
  bool is_of_rows(ValueId v) const {
    const Dims& shape = type(v).shape;
    return shape.empty() || (shape.back().is(1) && !type(v).quantized() && type(v).dtype != DType::f4_e2m1);
  }
  bool read_by_elements(std::size_t i) const {
    const std::vector<Instruction>& code = n_.expr.code;
    for (std::size_t k = i + 1; k < code.size(); ++k) {
      const std::uint16_t operands[] = {code[k].a, code[k].b, code[k].c};
      for (int o = 0; o < scalar_info(code[k].op).operands; ++o) {
        if (operands[o] == i && !(once_[k] && is_plain(code[k].dtype))) return true;
      }
    }
    return false;
  }
  /// Removes unused instructions, and the operands no longer loaded.
  void keep_read(Node& n) const {
    ExpressionBuilder b;
    std::vector<std::uint16_t> loads;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) loads.push_back(b.load(n.inputs[k], type(n.inputs[k]).dtype));
    n.expr = b.finish(b.append(n.expr, loads));
    std::vector<std::int64_t> number(b.operands().size(), -1);
    for (const Instruction& c : n.expr.code) {
      if (c.op == Scalar::load) number[static_cast<std::size_t>(c.integer)] = 0;
    }
    n.inputs.clear();
    for (std::size_t k = 0; k < number.size(); ++k) {
      if (number[k] < 0) continue;
      number[k] = std::ssize(n.inputs);
      n.inputs.push_back(b.operands()[k]);
    }
    for (Instruction& c : n.expr.code) {
      if (c.op == Scalar::load) c.integer = number[static_cast<std::size_t>(c.integer)];
    }
  }

  Function& f_;
  const Node& n_;
  const Dims shape_;
  std::vector<bool> once_;            ///< the instruction's value is constant along a row
  std::vector<bool> worth_;           ///< a costly instruction feeds the value
  std::vector<bool> depends_on_row_;  ///< the value depends on the row
};

}  // namespace

void hoist_rows(FusedFunction& fused) {
  Function& f = fused.function;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    Node n = std::move(f.nodes[i]);
    if (n.op == Op::pointwise && n.outputs.size() == 1 && n.outputs[0] != kNoValue) {
      RowInvariants invariants(f, n);
      const std::vector<std::size_t> found = invariants.found();
      std::vector<ValueId> values;
      for (const std::size_t at : found) {
        nodes.push_back(invariants.node(at));
        numbers.push_back(fused.numbers[i]);
        values.push_back(nodes.back().outputs[0]);
      }
      if (!found.empty()) n = invariants.reading(found, values);
    }
    nodes.push_back(std::move(n));
    numbers.push_back(fused.numbers[i]);
  }
  f.nodes = std::move(nodes);
  fused.numbers = std::move(numbers);
}

}  // namespace tern
