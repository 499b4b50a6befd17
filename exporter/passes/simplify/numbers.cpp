#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "exporter/passes/passes.h"

namespace tern {
namespace {

/// True for types with numbers stored unchanged in an instruction.
bool is_stored_unchanged(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::i64 || t == DType::i32 || t == DType::i16 ||
         t == DType::i8 || t == DType::u8;
}

/// Whole numbers of this size are equal in every type with room for them, and in float32.
std::optional<std::int64_t> small_integer(double v, DType t) {
  const double lower = t == DType::u8   ? 0
                       : t == DType::i8 ? -128
                                        : -32768,
               upper = t == DType::i8   ? 127
                       : t == DType::u8 ? 255
                                        : 32767;
  if (v != std::trunc(v) || v < lower || v > upper) return std::nullopt;
  return static_cast<std::int64_t>(v);
}

/// Fill number of a node's result, as an instruction.
std::optional<Instruction> number_of(const Node& n, DType dtype) {
  if (n.op != Op::full || !is_stored_unchanged(dtype)) return std::nullopt;
  Instruction i;
  i.op = Scalar::constant;
  i.dtype = dtype;
  const AttrData* value = n.find(AttrKey::value);
  double number = 0;
  if (const auto* numbers = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value)) {
    if (numbers->empty()) return std::nullopt;
    number = numbers->front();
  } else {
    const Dims& integers = n.dims(AttrKey::value);
    if (integers.size() != 1 || !integers[0].is_const()) return std::nullopt;
    number = static_cast<double>(integers[0].value());
  }
  if (is_floating(dtype)) {
    i.number = number;
    return i;
  }
  const auto as_integer = small_integer(number, dtype);
  if (!as_integer) return std::nullopt;
  i.dtype = DType::i64;  // instructions compute in it
  i.integer = *as_integer;
  return i;
}

bool is_wide_numbers(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::i64;
}

/// True if instructions only widen operand `k`, whose type is not the number's.
bool is_widened(const PointwiseExpr& expr, std::size_t k) {
  const auto is_load = [&](const Instruction& i) {
    return i.op == Scalar::load && i.integer == static_cast<std::int64_t>(k);
  };
  if (is_load(expr.code.back())) return false;
  return std::ranges::all_of(expr.code, [&](const Instruction& i) {
    const std::uint16_t operands[] = {i.a, i.b, i.c};
    for (int o = 0; o < scalar_info(i.op).operands; ++o) {
      if (is_load(expr.code[operands[o]]) && (i.op != Scalar::convert || !is_wide_numbers(i.dtype))) return false;
    }
    return true;
  });
}

/// Small whole numbers are converted at once.
void convert_numbers(PointwiseExpr& expr) {
  for (Instruction& i : expr.code) {
    if (i.op != Scalar::convert || !is_wide_numbers(i.dtype)) continue;
    const Instruction operand = expr.code[i.a];
    if (operand.op != Scalar::constant || operand.dtype != DType::i64 || std::abs(operand.integer) > 32768) continue;
    i = Instruction{Scalar::constant, i.dtype};
    if (is_floating(i.dtype)) {
      i.number = static_cast<double>(operand.integer);
    } else {
      i.integer = operand.integer;
    }
  }
}

class ScalarInlining {
 public:
  explicit ScalarInlining(Function& f) : f_(f) {}

  void run() {
    for (const Node& n : f_.nodes) {
      if (n.op != Op::full) continue;
      if (const auto number = number_of(n, type(n.outputs[0]).dtype)) constants_.emplace(n.outputs[0], *number);
    }
    if (constants_.empty()) return;
    for (Node& n : f_.nodes) {
      if (n.op == Op::pointwise) inline_constants(n);
    }
  }

 private:
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }

  bool reads_number(const Node& n, std::size_t k) const {
    const auto found = constants_.find(n.inputs[k]);
    if (found == constants_.end()) return false;
    return found->second.dtype == type(n.inputs[k]).dtype || is_widened(n.expr, k);
  }
  void inline_constants(Node& n) {
    std::vector<ValueId> retained;
    std::vector<std::int64_t> number(n.inputs.size(), -1);  // numbers of the operands that are kept
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (reads_number(n, k)) continue;
      number[k] = std::ssize(retained);
      retained.push_back(n.inputs[k]);
    }
    // Operand 0 stays first: a state may own its memory.
    if (retained.size() == n.inputs.size() || retained.empty()) return;
    const TensorType& result = type(n.outputs[0]);
    const auto says_sizes = [&](ValueId v) { return type(v).shape == result.shape; };
    if (!n.has(AttrKey::sizes) && std::ranges::none_of(retained, says_sizes)) n.set(AttrKey::sizes, result.shape);
    for (Instruction& i : n.expr.code) {
      if (i.op != Scalar::load) continue;
      const auto k = static_cast<std::size_t>(i.integer);
      if (number[k] < 0) {
        i = constants_.at(n.inputs[k]);
      } else {
        i.integer = number[k];
      }
    }
    convert_numbers(n.expr);
    n.inputs = std::move(retained);
  }

  Function& f_;
  std::map<ValueId, Instruction> constants_;
};

}  // namespace

void inline_numbers(Program& program) {
  for (Function& f : program.functions) ScalarInlining(f).run();
}

}  // namespace tern
