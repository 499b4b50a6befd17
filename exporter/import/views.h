// Views as recipes: how to compute a view's value from its base, and how to write a new value of the view back into
// the base.
#pragma once

#include <string_view>

#include "exporter/builder.h"
#include "exporter/import/aliases.h"
#include "exporter/lower/lower.h"

namespace tern::importing {

/// The step from `of` to `result`, which nodes of the builder's function from number `first` on have computed. Where
/// these are views of Tern (reshape, permute, slice ...), the recipe repeats them, and undoes them one by one; else
/// `again` is run anew.
ViewStep view_step(Builder& builder, std::string op, ValueId of, ValueId result, std::size_t first,
                   std::function<ValueId(ValueId of)> again);

/// Whether the operator gives its operand without the operand's gradient.
bool is_detach(std::string_view target);
/// The step to a tensor that shares the memory of another, through which no gradient flows: nodes of
/// exporter/gradients/detach.h.
ViewStep detaching(Builder& builder);

/// Tells whether an operator that may return a view of its first operand or a copy (reshape, contiguous, to ...)
/// copied, by the strides that PyTorch recorded of both.
struct Layout {
  std::vector<std::int64_t> sizes, strides;
  bool known = false;
};
bool reshape_copies(const Layout& from, const Layout& to);

}  // namespace tern::importing
