// The MX format of a node's value.
#pragma once

#include "dtypes/mx.h"
#include "kernels/kernel.h"

namespace tern {

/// Format of an MX value with this view's logical sizes.
inline MxFormat mx_format(const Node& node, const TensorView& v) {
  MxFormat f;
  f.element = v.dtype;
  f.columns = v.size(v.rank - 1);
  f.rows = 1;
  for (int i = 0; i + 1 < v.rank; ++i) f.rows *= v.size(i);
  f.block = node.integer(AttrKey::block);
  f.layout = static_cast<ScaleLayout>(node.integer(AttrKey::layout));
  check_mx(f);
  return f;
}

}  // namespace tern
