// Values replacing absent optional attributes (AttrRecord::absent).
#pragma once

#include <cmath>

#include "schema/program.h"

namespace tern {

/// Scale of attention scores for heads of this size.
inline double attention_scale(const Node& node, std::int64_t head_size) {
  return node.has(AttrKey::scale) ? node.number(AttrKey::scale) : 1 / std::sqrt(static_cast<double>(head_size));
}

/// Stride of a pool along spatial axis `i`.
inline std::int64_t pool_stride(const Node& node, std::size_t i) {
  return node.integer_at(node.has(AttrKey::strides) ? AttrKey::strides : AttrKey::kernel, i);
}

}  // namespace tern
