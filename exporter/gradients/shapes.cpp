#include "exporter/gradients/shapes.h"

#include <algorithm>

#include "schema/kinds.h"

namespace tern {

std::vector<std::int64_t> axes_but(Builder& b, ValueId x, std::initializer_list<std::int64_t> axes) {
  std::vector<std::int64_t> r;
  for (std::int64_t i = 0; i < b.rank(x); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) r.push_back(i);
  }
  return r;
}

ValueId flatten_from(Builder& b, ValueId x, std::int64_t first) {
  const Dims shape = b.shape(x);
  Dims sizes(shape.begin(), shape.begin() + first);
  sizes.push_back(b.pool().product(std::span<const Dim>(shape).subspan(static_cast<std::size_t>(first))));
  return b.reshape(x, sizes);
}

ValueId scatter_sum(Builder& b, Dims sizes, std::int64_t axis, ValueId index, ValueId g) {
  const DType t = b.dtype(g), compute_dtype = is_complex(t) ? t : compute_type(t);
  const ValueId sum =
      b.add(Op::scatter, {b.full(std::move(sizes), 0, compute_dtype), index, b.cast(g, compute_dtype)},
            {attr(AttrKey::axis, axis), attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScatterKind::sum)))});
  return b.cast(sum, t);
}

ValueId repeat_behind(Builder& b, ValueId index, const Dims& sizes) {
  Dims padded_shape = b.shape(index);
  padded_shape.resize(sizes.size(), 1);
  return b.expand(b.reshape(index, padded_shape), sizes);
}

ValueId times_read(Builder& b, ValueId index, Dim rows) {
  const ValueId ones = b.full(b.shape(index), 1, DType::i64);
  const ValueId counts =
      b.add(Op::index_put, {b.full({rows}, 0, DType::i64), ones, index}, {attr(AttrKey::accumulate, Dim(1))});
  return b.index_select(counts, index, 0);
}

}  // namespace tern
