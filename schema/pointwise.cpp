#include "schema/pointwise.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tern {
namespace {

constexpr int kMaxScalar = 136;
constexpr int kMaxIndexAxis = 16;

struct ScalarTable {
  std::array<ScalarInfo, kMaxScalar + 1> rows{};

  ScalarTable() {
#define TERN_SCALAR_ROW(number, name, operands, domain) rows[number] = {Scalar::name, #name, operands, (#domain)[0]};
    TERN_SCALARS(TERN_SCALAR_ROW)
#undef TERN_SCALAR_ROW
    // C++ spells these operators without keywords.
    for (ScalarInfo& r : rows) {
      if (!r.name.empty() && r.name.back() == '_') r.name.remove_suffix(1);
    }
  }
};

const ScalarTable& scalar_table() {
  static const ScalarTable table;
  return table;
}

bool is_compute_type(DType t) {
  return t != DType::invalid && compute_type(t) == t;
}
bool is_float(DType t) {
  return t == DType::f32 || t == DType::f64;
}
bool is_compute_complex(DType t) {
  return t == DType::c64 || t == DType::c128;
}
bool is_compute_integer(DType t) {
  return t == DType::i64 || t == DType::u64;
}
DType part_type(DType t) {
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}

/// Operations defined on booleans: all others operate on integers only.
bool takes_boolean(Scalar op) {
  switch (op) {
    case Scalar::add:  // or
    case Scalar::mul:  // and
    case Scalar::min:
    case Scalar::max:
    case Scalar::fmin:
    case Scalar::fmax:
    case Scalar::eq:
    case Scalar::ne:
    case Scalar::lt:
    case Scalar::le:
    case Scalar::gt:
    case Scalar::ge:
    case Scalar::where:
    case Scalar::and_:
    case Scalar::or_:
    case Scalar::xor_:
    case Scalar::not_: return true;
    default: return false;
  }
}

bool accepts(const ScalarInfo& info, DType t) {
  if (t == DType::boolean) return takes_boolean(info.op);
  switch (info.domain) {
    case 'a': return is_compute_type(t);
    case 'r': return is_compute_type(t) && !is_compute_complex(t);
    case 'f': return is_float(t);
    case 'i': return is_compute_integer(t);
    case 'c': return is_float(t) || is_compute_complex(t);
    default: return false;
  }
}

bool gives_boolean(Scalar op) {
  return (op >= Scalar::eq && op <= Scalar::ge) || (op >= Scalar::isnan && op <= Scalar::signbit);
}

/// Checks one instruction; its operands are known to be earlier instructions.
class InstructionCheck {
 public:
  InstructionCheck(const PointwiseExpr& expr, const std::vector<DType>& inputs, std::size_t at)
      : expr_(expr), inputs_(inputs), i_(expr.code[at]), info_(scalar_info(i_.op)) {}

  std::string run() const {
    switch (i_.op) {
      case Scalar::load: return load();
      case Scalar::constant:
        if (!is_compute_type(i_.dtype)) return "a constant of a type without arithmetic";
        if (i_.dtype == DType::boolean && i_.integer != 0 && i_.integer != 1)
          return "a boolean that is neither 0 nor 1";
        return {};
      case Scalar::index:
        if (i_.integer < 0 || i_.integer >= kMaxIndexAxis) return "the axis does not exist";
        return result(DType::i64);
      case Scalar::convert: return i_.integer == 0 || i_.integer == 1 ? std::string() : "unknown overflow policy";
      case Scalar::bitcast: return bitcast();
      case Scalar::where: return where();
      case Scalar::real:
      case Scalar::imag:
        if (!is_compute_complex(operand(0))) return "the operand must be complex";
        return result(part_type(operand(0)));
      case Scalar::complex:
        if (!is_float(operand(0)) || operand(1) != operand(0)) return "the operands must have the same floating type";
        return result(operand(0) == DType::f32 ? DType::c64 : DType::c128);
      case Scalar::angle:
        if (!is_float(operand(0)) && !is_compute_complex(operand(0))) return "the operand must be floating or complex";
        return result(part_type(operand(0)));
      case Scalar::frexp_exponent:
        if (!is_float(operand(0))) return "the operand must be floating";
        return result(DType::i64);
      default: return plain();
    }
  }

 private:
  DType operand(int k) const { return expr_.code[k == 0 ? i_.a : k == 1 ? i_.b : i_.c].dtype; }
  std::string result(DType t) const {
    return i_.dtype == t ? std::string() : fmt::format("gives {}, not {}", name_of(t), name_of(i_.dtype));
  }

  std::string load() const {
    if (i_.integer < 0 || static_cast<std::uint64_t>(i_.integer) >= inputs_.size()) return "the input does not exist";
    return result(inputs_[static_cast<std::size_t>(i_.integer)]);
  }
  std::string bitcast() const {
    const DType from = operand(0);
    if (element_size(from) != element_size(i_.dtype)) return "the sizes of the types differ";
    if (i_.dtype == DType::boolean || i_.dtype == DType::f4_e2m1 || from == DType::f4_e2m1) {
      return "the type is not supported";
    }
    return {};
  }
  std::string where() const {
    if (operand(0) != DType::boolean) return "the condition must be boolean";
    if (operand(1) != operand(2) || !is_compute_type(operand(1)))
      return "the choices must have the same arithmetic type";
    return result(operand(1));
  }
  std::string plain() const {
    const DType t = operand(0);
    for (int k = 1; k < info_.operands; ++k) {
      if (operand(k) != t)
        return fmt::format("the operands have different types, {} and {}", name_of(t), name_of(operand(k)));
    }
    if (!accepts(info_, t)) return fmt::format("not defined for {}", name_of(t));
    if (gives_boolean(i_.op)) return result(DType::boolean);
    return result(i_.op == Scalar::abs ? part_type(t) : t);
  }

  const PointwiseExpr& expr_;
  const std::vector<DType>& inputs_;
  const Instruction& i_;
  const ScalarInfo& info_;
};

}  // namespace

const ScalarInfo& scalar_info(Scalar op) {
  const auto n = static_cast<std::size_t>(op);
  return scalar_table().rows[n <= kMaxScalar ? n : 0];
}

Scalar scalar_from_name(std::string_view name) {
  if (name.empty()) return Scalar::invalid;
  for (const ScalarInfo& r : scalar_table().rows) {
    if (r.name == name) return r.op;
  }
  return Scalar::invalid;
}

DType compute_type(DType t) {
  switch (t) {
    case DType::invalid:
    case DType::boolean:
    case DType::i64:
    case DType::u64:
    case DType::f32:
    case DType::f64:
    case DType::c64:
    case DType::c128: return t;
    case DType::c32: return DType::c64;
    default: return is_floating(t) ? DType::f32 : DType::i64;
  }
}

std::string check(const PointwiseExpr& expr, const std::vector<DType>& inputs, DType output) {
  const std::vector<Instruction>& code = expr.code;
  if (code.empty()) return "the expression is empty";
  if (code.size() > kMaxInstructions) return fmt::format("{} instructions (at most {})", code.size(), kMaxInstructions);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const ScalarInfo& info = scalar_info(code[i].op);
    const auto wrong = [&](std::string_view what) {
      return fmt::format("instruction {} ({}): {}", i, info.op == Scalar::invalid ? "unknown" : info.name, what);
    };
    if (info.op == Scalar::invalid) return wrong(fmt::format("unknown operation {}", static_cast<int>(code[i].op)));
    if (element_size(code[i].dtype) == 0) return wrong("unknown dtype");
    const std::uint16_t operands[] = {code[i].a, code[i].b, code[i].c};
    for (int k = 0; k < info.operands; ++k) {
      if (operands[k] >= i) return wrong("reads an instruction that is not before it");
    }
    if (std::string what = InstructionCheck(expr, inputs, i).run(); !what.empty()) return wrong(what);
  }
  if (code.back().dtype != output) {
    return fmt::format("the expression has type {}, not {}", name_of(code.back().dtype), name_of(output));
  }
  return {};
}

}  // namespace tern
