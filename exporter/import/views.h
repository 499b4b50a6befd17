// Views as recipes: compute a view's value from its base, and write a new value of the view back into the base.
#pragma once

#include <string_view>

#include "exporter/builder.h"
#include "exporter/import/aliases.h"
#include "exporter/lower/lower.h"

namespace tern::importing {

/// Step from `base` to `result`, computed by the builder's nodes from number `first` on. Tern's views (reshape,
/// permute, slice ...) are repeated, and undone one by one; otherwise `recompute` runs.
ViewStep view_step(Builder& builder, std::string op, ValueId base, ValueId result, std::size_t first,
                   std::function<ValueId(ValueId base)> recompute);

/// True if the operator returns its operand without gradient.
bool is_detach(std::string_view target);
/// Step to a detached tensor with the same memory: nodes of exporter/gradients/detach.h.
ViewStep detached_view_step(Builder& builder);

/// Decides from PyTorch's recorded strides if a view-or-copy operator (reshape, contiguous, to ...) copied its first
/// operand.
struct RecordedLayout {
  std::vector<std::int64_t> sizes, strides;
  bool is_known = false;
};
bool reshape_copies(const RecordedLayout& source, const RecordedLayout& target);

}  // namespace tern::importing
