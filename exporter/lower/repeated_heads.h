// Keys and values that several heads of queries share.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// x [..., heads, n, m] from before its heads were repeated, one after the other: models that cannot rely on a kernel
/// for shared heads make an axis behind the heads, expand it and merge both. Else kNoValue.
ValueId before_repeating_heads(Builder& b, ValueId x);

}  // namespace tern
