// The names and the numbers of arguments of sympy's functions, for the parsers and the printer of this folder.
#pragma once

#include <cstddef>
#include <string_view>

#include "exporter/pt2/sympy.h"

namespace tern::pt2 {

struct SymName {
  std::string_view name;
  SymOp op;
};

/// An op's first name is printed.
inline constexpr SymName kSymNames[] = {
    {"Integer", SymOp::integer},
    {"Rational", SymOp::rational},
    {"Float", SymOp::real},
    {"Symbol", SymOp::symbol},
    {"Dummy", SymOp::symbol},
    {"Add", SymOp::add},
    {"Mul", SymOp::mul},
    {"Min", SymOp::min},
    {"Max", SymOp::max},
    {"And", SymOp::logical_and},
    {"Or", SymOp::logical_or},
    {"Not", SymOp::logical_not},
    {"Pow", SymOp::pow},
    {"PowByNatural", SymOp::pow_by_natural},
    {"FloatPow", SymOp::float_pow},
    {"Mod", SymOp::mod},
    {"PythonMod", SymOp::python_mod},
    {"FloorDiv", SymOp::floor_div},
    {"CleanDiv", SymOp::clean_div},
    {"CeilDiv", SymOp::ceil_div},
    {"IntTrueDiv", SymOp::int_true_div},
    {"FloatTrueDiv", SymOp::float_true_div},
    {"ToFloat", SymOp::to_float},
    {"CeilToInt", SymOp::ceil_to_int},
    {"FloorToInt", SymOp::floor_to_int},
    {"TruncToInt", SymOp::trunc_to_int},
    {"TruncToFloat", SymOp::trunc_to_float},
    {"RoundToInt", SymOp::round_to_int},
    {"RoundDecimal", SymOp::round_decimal},
    {"floor", SymOp::floor},
    {"ceiling", SymOp::ceiling},
    {"Abs", SymOp::abs},
    {"Where", SymOp::where},
    {"Piecewise", SymOp::piecewise},
    {"Identity", SymOp::identity},
    {"LShift", SymOp::left_shift},
    {"RShift", SymOp::right_shift},
    {"BitwiseFn_bitwise_and", SymOp::bitwise_and},
    {"BitwiseFn_bitwise_or", SymOp::bitwise_or},
    {"BitwiseFn_bitwise_xor", SymOp::bitwise_xor},
    {"Equality", SymOp::eq},
    {"Eq", SymOp::eq},
    {"Unequality", SymOp::ne},
    {"Ne", SymOp::ne},
    {"StrictLessThan", SymOp::lt},
    {"Lt", SymOp::lt},
    {"LessThan", SymOp::le},
    {"Le", SymOp::le},
    {"StrictGreaterThan", SymOp::gt},
    {"Gt", SymOp::gt},
    {"GreaterThan", SymOp::ge},
    {"Ge", SymOp::ge},
    {"ModularIndexing", SymOp::modular_indexing},
};
/// Number of arguments of a function.
struct SymArity {
  std::size_t min, max;
};
SymArity arity_of(SymOp op);

inline constexpr std::string_view kOpaqueUnaryPrefix = "OpaqueUnaryFn_";

}  // namespace tern::pt2
