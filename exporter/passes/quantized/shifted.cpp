#include <tern/tensor.h>

#include <algorithm>
#include <optional>

#include "dtypes/convert.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/passes.h"
#include "exporter/rewrite.h"
#include "schema/op_record.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

constexpr std::int64_t kShift = 128;

/// Accepts reductions, too: programs compute the sums of a weight's columns.
bool is_foldable_shifted(const Node& n) {
  return has_trait(n.op, Trait::foldable);
}

class ShiftedProducts {
 public:
  ShiftedProducts(Program& program, std::uint32_t function)
      : program_(program),
        number_(function),
        f_(program.functions[function]),
        constants_(program, f_, is_foldable_shifted) {}

  bool run() {
    bool is_changed = false;
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      const Node& n = f_.nodes[i];
      if (n.op != Op::matmul || type(n.inputs[0]).dtype != DType::u8 || type(n.inputs[1]).dtype != DType::i8 ||
          type(n.outputs[0]).dtype != DType::i32 || (n.inputs.size() > 2 && n.inputs[2] != kNoValue))
        continue;
      const ValueId x = signed_behind(n.inputs[0]);
      const DefUse& def_use_info = constants_.def_use();
      const auto readers = def_use_info.readers(n.outputs[0]);
      if (x == kNoValue || readers.size() != 1 || def_use_info.result_count(n.outputs[0]) > 0 ||
          !takes_sums_out(n, readers[0].node))
        continue;
      Function& g = program_.functions[number_];
      g.nodes[i].inputs[0] = x;
      // The signed product needs no correction.
      const ValueId corrected = f_.nodes[readers[0].node].outputs[0];
      use_instead(g, corrected, n.outputs[0]);
      is_changed = true;
    }
    return is_changed;
  }

 private:
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }

  static bool holds_sums(DType t) { return t == DType::i16 || t == DType::i32 || t == DType::i64; }

  /// The int8 value of the same shape that becomes `v` by adding 128, or none.
  ValueId signed_behind(ValueId v) const {
    std::int64_t sum = 0;
    for (bool last = true;; last = false) {
      const std::int64_t producer = constants_.producer(v);
      if (producer < 0) return kNoValue;
      const Node& n = f_.nodes[static_cast<std::size_t>(producer)];
      if (n.op != Op::pointwise || n.inputs.size() != 1 || (!last && !holds_sums(type(v).dtype))) return kNoValue;
      const auto added_constant = constant_added(n);
      if (!added_constant) return kNoValue;
      sum += *added_constant;
      v = n.inputs[0];
      if (type(v).dtype == DType::i8) return sum == kShift ? v : kNoValue;
    }
  }

  /// The constant that an expression of conversions between integers and sums adds to its operand.
  static std::optional<std::int64_t> constant_added(const Node& n) {
    std::int64_t sum = 0;
    const std::vector<Instruction>& code = n.expr.code;
    std::size_t index = code.size() - 1;
    while (code[index].op != Scalar::load) {
      const Instruction& i = code[index];
      if (i.op == Scalar::add && code[i.b].op == Scalar::constant && is_integral(i.dtype)) {
        if (code[i.b].integer < -kShift || code[i.b].integer > kShift) return std::nullopt;
        sum += code[i.b].integer;
      } else if (i.op != Scalar::convert || !is_integral(i.dtype) ||
                 (index + 1 < code.size() && !holds_sums(i.dtype))) {
        return std::nullopt;
      }
      index = i.a;
    }
    return sum;
  }

  /// True if `reader` subtracts 128 times the sums of the columns of the product's weight, in integers.
  bool takes_sums_out(const Node& product, std::size_t reader) const {
    const Node& n = f_.nodes[reader];
    if (n.op != Op::pointwise || n.inputs.size() != 2 || type(n.outputs[0]).dtype != DType::i32) return false;
    const std::vector<Instruction>& code = n.expr.code;
    const auto skip_conversions = [&](std::size_t index) {
      while (code[index].op == Scalar::convert && holds_sums(code[index].dtype)) index = code[index].a;
      return index;
    };
    const Instruction& difference = code[skip_conversions(code.size() - 1)];
    if (difference.op != Scalar::sub || !holds_sums(difference.dtype)) return false;
    const Instruction &left = code[skip_conversions(difference.a)], &right = code[skip_conversions(difference.b)];
    if (left.op != Scalar::load || right.op != Scalar::load) return false;
    const ValueId sums = n.inputs[static_cast<std::size_t>(right.integer)];
    if (n.inputs[static_cast<std::size_t>(left.integer)] != product.outputs[0] || sums == product.outputs[0])
      return false;
    const std::int64_t columns =
        type(product.outputs[0]).shape.back().is_const() ? type(product.outputs[0]).shape.back().value() : -1;
    const std::vector<std::int64_t> found = integers(sums), weight = integers(product.inputs[1]);
    if (columns < 1 || std::ssize(found) != columns || weight.empty() || !type(sums).shape.back().is(columns))
      return false;
    std::vector<std::int64_t> expected(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < weight.size(); ++i) expected[i % expected.size()] += kShift * weight[i];
    return found == expected;
  }

  /// The elements of a constant; empty for other values.
  std::vector<std::int64_t> integers(ValueId v) const {
    std::vector<std::int64_t> result;
    if (!constants_.constant(v) || !is_integral(type(v).dtype)) return result;
    const auto take_elements = [&](const Tensor& value) {
      const Tensor dense = value.contiguous();
      result.resize(static_cast<std::size_t>(dense.numel()));
      convert(dense.data(), dense.dtype(), result.data(), DType::i64, dense.numel());
    };
    if (!constants_.evaluate(v, constants_.slice(v), take_elements)) result.clear();
    return result;
  }

  Program& program_;
  std::uint32_t number_;
  const Function f_;  ///< before the pass
  const ConstantPart constants_;
};

bool is_product(const Node& n) {
  return n.op == Op::matmul;
}

}  // namespace

void multiply_signed_integers(Program& program) {
  bool is_changed = false;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    if (std::ranges::any_of(program.functions[f].nodes, is_product))
      is_changed = ShiftedProducts(program, f).run() || is_changed;
  }
  if (is_changed) remove_dead_code(program);
}

}  // namespace tern
