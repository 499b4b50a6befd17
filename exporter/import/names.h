// The operators that the importer handles itself, without a lowering. It ignores operators outside of these tables.
#pragma once

#include <span>
#include <string_view>

namespace tern::importing {

/// Operators that ask for sizes, read a number off a tensor or assert something: host.cpp.
std::span<const std::string_view> host_names();

/// Operators with nothing to do at run time: what they state was proved, or recorded with the ranges of symbols, when
/// the program was exported.
std::span<const std::string_view> names_without_effect();

/// Operators that take a tensor subclass apart: subclass_calls.cpp.
std::span<const std::string_view> subclass_names();

/// Operators that make dual numbers and take them apart: duals.cpp.
std::span<const std::string_view> dual_names();
/// Higher-order operators, without "higher_order.": control.cpp.
std::span<const std::string_view> control_names();

/// Views of a tensor's memory, whatever part of it the operand is: strided.cpp.
std::span<const std::string_view> strided_names();

/// Schema names, without overload, of operators that write their arguments and are no lowering written back:
/// mutate.cpp.
std::span<const std::string_view> special_mutations();

/// Functions of numbers on the host, without "_operator.", "math." or "torch.sym_": scalars.cpp.
std::span<const std::string_view> scalar_functions();

bool contains(std::span<const std::string_view> names, std::string_view name);

}  // namespace tern::importing
