// Makes the plan of one section of a function for known symbol values.
#pragma once

#include <span>

#include "runtime/plan.h"
#include "runtime/prepared.h"

namespace tern {

/// What the planner knows of a function when it comes to a section: values placed by earlier sections and inputs. Grows as sections are planned.
struct FunctionLayout {
  std::vector<Placed> values;  ///< for each value of the function; an unplaced one has Location::Kind::none
};

struct PlanRequest {
  const PreparedProgram* prepared = nullptr;
  std::uint32_t function = 0;
  std::uint32_t section = 0;
  std::span<const std::int64_t> expressions;  ///< the value of each node of the pool
  bool entry = false;                         ///< results may stay where inputs are; bodies' results never do
  /// Data of constant states, so that kernels can prepare weights. Null for the others.
  std::span<std::byte* const> constants;
};

/// The size of `d`; fails when it cannot be evaluated.
std::int64_t evaluate(Dim d, std::span<const std::int64_t> expressions, const ExprPool& pool);
/// The concrete sizes of a type; fails on a negative size or when the tensor does not fit 62 bits.
TensorView concrete_view(const TensorType& type, std::span<const std::int64_t> expressions, const ExprPool& pool);
/// Bytes that a contiguous view of this type takes.
std::uint64_t view_bytes(const TensorType& type, const TensorView& view);

/// Plans the section and places its values in `layout`.
Plan make_plan(const PlanRequest& request, FunctionLayout& layout);

}  // namespace tern
