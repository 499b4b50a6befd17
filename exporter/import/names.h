// Operators handled by the importer without a lowering. Other operators are lowered or become custom nodes.
#pragma once

#include <span>
#include <string_view>

namespace tern::importing {

/// Operators to query sizes, read a number off a tensor or assert: host.cpp.
std::span<const std::string_view> host_names();

/// Operators without run-time work: their statements were proved, or recorded with the symbols' ranges, at export.
std::span<const std::string_view> names_without_effect();

/// Operators to take a tensor subclass apart: subclass_calls.cpp.
std::span<const std::string_view> subclass_names();

/// Operators to make dual numbers and take them apart: duals.cpp.
std::span<const std::string_view> dual_names();
/// Higher-order operators, without "higher_order.": control.cpp.
std::span<const std::string_view> control_names();

/// Views of a tensor's whole memory, for any operand in the memory: strided.cpp.
std::span<const std::string_view> strided_names();

/// Schema names, without overload, of operators with written arguments beyond a written-back lowering: mutate.cpp.
std::span<const std::string_view> special_mutations();

/// Functions of numbers on the host, without "_operator.", "math." or "torch.sym_": scalars.cpp.
std::span<const std::string_view> scalar_functions();

bool contains(std::span<const std::string_view> names, std::string_view name);

}  // namespace tern::importing
