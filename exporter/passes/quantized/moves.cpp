#include <tern/tensor.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "dtypes/byte_integers.h"
#include "exporter/builder.h"
#include "exporter/passes/constant_part.h"
#include "exporter/passes/passes.h"
#include "schema/def_use.h"
#include "schema/passes/dead_code.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

/// Every integer of a byte.
constexpr std::int64_t kCodes = 256;

/// True for pointwise nodes of one operand and constants.
bool is_map(const Node& n) {
  return n.op == Op::pointwise && n.inputs.size() == 1 && n.outputs.size() == 1 && !n.has(AttrKey::sizes) &&
         std::ranges::none_of(n.expr.code, [](const Instruction& i) { return i.op == Scalar::index; });
}

/// True if the node's result consists of elements of its operands, chosen by position or by their order.
bool keeps_elements(const Node& n) {
  switch (n.op) {
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::expand:
    case Op::concat: return true;
    case Op::pool:
      return static_cast<PoolKind>(n.integer(AttrKey::kind)) == PoolKind::max &&
             (n.outputs.size() < 2 || n.outputs[1] == kNoValue);
    default: return false;
  }
}

class IntegerMoves {
 public:
  IntegerMoves(Program& program, std::uint32_t function)
      : program_(program), function_(function), def_use_(program.functions[function]) {}

  bool run() {
    bool is_changed = false;
    for (std::size_t i = 0; i < f().nodes.size(); ++i) is_changed = rewrite_integers(i) || is_changed;
    return is_changed;
  }

 private:
  Function& f() { return program_.functions[function_]; }
  const TensorType& type(ValueId v) { return f().values[static_cast<std::size_t>(v)].type; }

  /// Rewrites node `i` if it quantizes elements that a node moves or chooses among widened integers.
  bool rewrite_integers(std::size_t i) {
    const Node quantizes = f().nodes[i];
    if (!is_map(quantizes) || !is_byte_integer(type(quantizes.outputs[0]).dtype)) return false;
    const ValueId numbers = quantizes.inputs[0];
    const std::int64_t producer = def_use_.producer(numbers);
    if (producer < 0 || def_use_.read_count(numbers) != 1) return false;
    const Node& chooses = f().nodes[static_cast<std::size_t>(producer)];
    if (!keeps_elements(chooses) || chooses.outputs[0] != numbers) return false;
    std::vector<ValueId> integers;
    for (ValueId v : chooses.inputs) {
      const std::int64_t widening_index = def_use_.producer(v);
      if (widening_index < 0) return false;
      const Node& widens = f().nodes[static_cast<std::size_t>(widening_index)];
      if (!is_map(widens) || type(widens.inputs[0]).dtype != type(quantizes.outputs[0]).dtype ||
          type(widens.inputs[0]).shape != type(v).shape || !knows_inverse(widens, quantizes))
        return false;
      integers.push_back(widens.inputs[0]);
    }
    Node& result = f().nodes[i];  // stands behind the integers
    result = f().nodes[static_cast<std::size_t>(producer)];
    result.inputs = std::move(integers);
    result.outputs[0] = quantizes.outputs[0];
    return true;
  }

  bool knows_inverse(const Node& widens, const Node& quantizes) {
    const Pair pair{widens.expr.code, quantizes.expr.code};
    const auto cached = std::ranges::find(inverse_cache_, pair, &std::pair<Pair, bool>::first);
    if (cached != inverse_cache_.end()) return cached->second;
    inverse_cache_.emplace_back(pair, are_inverse(widens, quantizes));
    return inverse_cache_.back().second;
  }
  /// True if the numbers ascend with the integers, and quantizing gives the integers back.
  bool are_inverse(const Node& widens, const Node& quantizes) {
    Program p;
    p.metadata = program_.metadata;
    p.functions.emplace_back().name = "forward";
    p.functions[0].entry = true;
    Builder b(p, 0);
    const DType dtype = type(widens.inputs[0]).dtype;
    const int lower = dtype == DType::u8 ? 0 : -128;
    const ValueId codes = b.expr("x", {{"x", b.iota(kCodes, DType::i64, lower, 1)}}, DType::i64, dtype);
    const auto apply = [&](const Node& pattern, ValueId operand) {
      Node n;
      n.op = Op::pointwise;
      n.expr = pattern.expr;
      n.inputs = {operand};
      return b.add(std::move(n)).front();
    };
    const ValueId numbers = apply(widens, codes), requantized = apply(quantizes, numbers);
    if (b.dtype(numbers) != DType::f32) return false;
    const ConstantPart constants(p, p.functions[0]);
    bool ascend = false, equals_codes = false;
    const auto compare_numbers = [&](const Tensor& value) {
      const auto span = value.span<const float>();
      ascend = std::ranges::adjacent_find(span, std::greater_equal<>()) == span.end();
    };
    const auto compare_codes = [&](const Tensor& value) {
      equals_codes = is_every_code(static_cast<const std::uint8_t*>(value.data()), lower);
    };
    return constants.evaluate(numbers, constants.slice(numbers), compare_numbers) && ascend &&
           constants.evaluate(requantized, constants.slice(requantized), compare_codes) && equals_codes;
  }
  static bool is_every_code(const std::uint8_t* codes, int lower) {
    for (int i = 0; i < kCodes; ++i) {
      if (codes[i] != static_cast<std::uint8_t>(i + lower)) return false;
    }
    return true;
  }

  Program& program_;
  std::uint32_t function_;
  const DefUse def_use_;  ///< describes the function before the change
  using Pair = std::pair<std::vector<Instruction>, std::vector<Instruction>>;
  std::vector<std::pair<Pair, bool>> inverse_cache_;  ///< pairs of expressions, with true for inverse ones
};

}  // namespace

void keep_integers(Program& program) {
  bool is_changed = false;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f)
    is_changed = IntegerMoves(program, f).run() || is_changed;
  if (is_changed) remove_dead_code(program);
}

}  // namespace tern
