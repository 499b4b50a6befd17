// Keys and values shared by several query heads.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Returns x [..., heads, n, m] before the repetition of its heads, else kNoValue. Models without a shared-head kernel
/// add an axis behind the heads, expand it and merge both.
ValueId before_repeating_heads(Builder& b, ValueId x);

}  // namespace tern
