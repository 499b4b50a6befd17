#include "exporter/lower/movement.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/lower/limits.h"

namespace tern {

Dim clamp_index(Builder& b, Dim index, Dim size) {
  ExprPool& p = b.pool();
  const Interval range = p.bounds(index);
  if (range.max < 0) {
    index = p.add(index, size);
  } else if (range.min < 0) {
    index = p.select(p.lt(index, 0), p.add(index, size), index);
  }
  if (index.is_const() && index.value() >= kNoBound - 1) return size;  // Python's "to the end"
  return p.min(p.max(index, 0), size);
}

Dims contiguous_strides(Builder& b, const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = b.pool().mul(strides[i], sizes[i]);
  return strides;
}

Dims infer_size(Builder& b, Dims sizes, Dim numel) {
  Dim known = 1;
  Dim* open = nullptr;
  for (Dim& d : sizes) {
    if (d.is(-1)) {
      open = &d;
    } else {
      known = b.pool().mul(known, d);
    }
  }
  if (open != nullptr) *open = known.is(0) ? Dim(0) : b.pool().floordiv(numel, known);
  return sizes;
}

ValueId expand_rank(Builder& b, ValueId x, int rank) {
  Dims sizes = b.shape(x);
  while (static_cast<int>(sizes.size()) < rank) sizes.insert(sizes.begin(), 1);
  return b.reshape(x, std::move(sizes));
}

SliceRange slice_range(Builder& b, const Call& c, ValueId x) {
  const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
  const Dim size = b.size(x, axis);
  const std::int64_t step = c.integer("step");
  const Dim start = c.has_argument("start") ? clamp_index(b, c.dim("start"), size) : Dim(0);
  const Dim end = c.has_argument("end") ? clamp_index(b, c.dim("end"), size) : size;
  const Dim length = b.pool().ceildiv(b.pool().max(b.pool().sub(end, start), 0), step);
  return {axis, length.is(0) ? Dim(0) : start, length, step};
}

ValueId diagonal(Builder& b, ValueId x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  ExprPool& p = b.pool();
  axis1 = b.normal_axis(x, axis1);
  axis2 = b.normal_axis(x, axis2);
  const Dims strides = contiguous_strides(b, b.shape(x));
  const Dim rows = b.size(x, axis1), columns = b.size(x, axis2);
  const Dim length =
      offset >= 0 ? p.max(p.min(rows, p.sub(columns, offset)), 0) : p.max(p.min(p.add(rows, offset), columns), 0);
  Dims sizes, steps;
  for (std::int64_t a = 0; a < b.rank(x); ++a) {
    if (a == axis1 || a == axis2) continue;
    sizes.push_back(b.size(x, a));
    steps.push_back(strides[static_cast<std::size_t>(a)]);
  }
  const Dim s1 = strides[static_cast<std::size_t>(axis1)], s2 = strides[static_cast<std::size_t>(axis2)];
  sizes.push_back(length);
  steps.push_back(p.add(s1, s2));
  const Dim start = length.is(0) ? Dim(0) : offset >= 0 ? p.mul(offset, s2) : p.mul(-offset, s1);
  return b.as_strided(x, std::move(sizes), std::move(steps), start);
}

namespace {

using Values = std::vector<ValueId>;

Values reshape_to(Builder& b, const Call& c, ArgumentName name) {
  const ValueId x = c.tensor("self");
  return {b.reshape(x, infer_size(b, c.dims(name), b.numel(x)))};
}
Values view(Builder& b, const Call& c) {
  return reshape_to(b, c, "size");
}
Values reshape(Builder& b, const Call& c) {
  return reshape_to(b, c, "shape");
}
Values view_as(Builder& b, const Call& c) {
  return {b.reshape(c.tensor("self"), Dims(b.shape(c.tensor("other"))))};
}
Values resize(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dims sizes = c.is_tensor("the_template") ? b.shape(c.tensor("the_template")) : c.dims("size");
  const Dim result_numel = b.pool().product(sizes), operand_numel = b.numel(x);
  ValueId flat = b.flatten(x);
  if (!b.pool().proved_equal(result_numel, operand_numel)) {
    if (b.pool().le(result_numel, operand_numel).is(1)) {
      flat = b.slice(flat, 0, 0, result_numel);
    } else {
      flat =
          b.pad(flat, {0}, {b.pool().sub(result_numel, operand_numel)});  // PyTorch leaves the new elements undefined
    }
  }
  return {b.reshape(flat, sizes)};
}
Values resize_as(Builder& b, const Call& c) {
  Call copy = c;
  return resize(b, copy);
}

Values flatten(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  if (b.rank(x) == 0) return {b.reshape(x, {1})};
  const std::int64_t first = b.normal_axis(x, c.integer("start_dim")), last = b.normal_axis(x, c.integer("end_dim"));
  Dims sizes(b.shape(x).begin(), b.shape(x).begin() + first);
  sizes.push_back(b.pool().product(
      std::span(b.shape(x)).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1))));
  sizes.insert(sizes.end(), b.shape(x).begin() + last + 1, b.shape(x).end());
  return {b.reshape(x, std::move(sizes))};
}
Values ravel(Builder& b, const Call& c) {
  return {b.flatten(c.tensor("self"))};
}

Values unflatten(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
  const Dims inner = infer_size(b, c.dims("sizes"), b.size(x, axis));
  Dims sizes(b.shape(x).begin(), b.shape(x).begin() + axis);
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  sizes.insert(sizes.end(), b.shape(x).begin() + axis + 1, b.shape(x).end());
  return {b.reshape(x, std::move(sizes))};
}

Values unsqueeze(Builder& b, const Call& c) {
  return {b.unsqueeze(c.tensor("self"), c.integer("dim"))};
}

Values squeeze_axes(Builder& b, ValueId x, const std::vector<std::int64_t>& axes) {
  Dims sizes;
  for (std::int64_t a = 0; a < b.rank(x); ++a) {
    const bool drop = std::find(axes.begin(), axes.end(), a) != axes.end() && b.size(x, a).is(1);
    if (!drop) sizes.push_back(b.size(x, a));
  }
  return {b.reshape(x, std::move(sizes))};
}
Values squeeze(Builder& b, const Call& c) {
  return squeeze_axes(b, c.tensor("self"), b.all_axes(c.tensor("self")));
}
Values squeeze_dims(Builder& b, const Call& c) {
  std::vector<std::int64_t> axes = c.integers("dim");
  for (std::int64_t& a : axes) a = b.normal_axis(c.tensor("self"), a);
  return squeeze_axes(b, c.tensor("self"), axes);
}

Values permute(Builder& b, const Call& c) {
  return {b.permute(c.tensor("self"), c.integers("dims"))};
}
Values transpose(Builder& b, const Call& c) {
  return {b.transpose(c.tensor("self"), c.integer("dim0"), c.integer("dim1"))};
}
Values t(Builder& b, const Call& c) {
  return {b.transpose(c.tensor("self"), 0, -1)};
}
Values mT(Builder& b, const Call& c) {
  return {b.transpose(c.tensor("self"), -1, -2)};
}
Values mH(Builder& b, const Call& c) {
  const ValueId x = b.transpose(c.tensor("self"), -1, -2);
  return {is_complex(b.dtype(x)) ? b.expr("conj(x)", {{"x", x}}, b.dtype(x)) : x};
}
Values reverse_axes(Builder& b, const Call& c) {
  std::vector<std::int64_t> axes = b.all_axes(c.tensor("self"));
  std::reverse(axes.begin(), axes.end());
  return {b.permute(c.tensor("self"), axes)};
}

Values movedim(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  if (b.rank(x) == 0) return {x};
  std::vector<std::int64_t> source = c.integers("source"), destination = c.integers("destination");
  std::vector<std::int64_t> axes(static_cast<std::size_t>(b.rank(x)), -1);
  std::vector<bool> moved(axes.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto s = static_cast<std::size_t>(b.normal_axis(x, source[i]));
    axes.at(static_cast<std::size_t>(b.normal_axis(x, destination.at(i)))) = static_cast<std::int64_t>(s);
    moved[s] = true;
  }
  std::size_t next = 0;
  for (std::int64_t& a : axes) {
    if (a >= 0) continue;
    while (moved[next]) ++next;
    a = static_cast<std::int64_t>(next++);
  }
  return {b.permute(x, axes)};
}

Values expand_to(Builder& b, ValueId x, Dims sizes) {
  const std::size_t skip = sizes.size() - std::min(sizes.size(), b.shape(x).size());
  for (std::size_t i = 0; i < b.shape(x).size() && skip + i < sizes.size(); ++i) {
    if (sizes[skip + i].is(-1)) sizes[skip + i] = b.shape(x)[i];
  }
  return {b.expand(x, std::move(sizes))};
}
Values expand(Builder& b, const Call& c) {
  return expand_to(b, c.tensor("self"), c.dims("size"));
}
Values expand_as(Builder& b, const Call& c) {
  return expand_to(b, c.tensor("self"), b.shape(c.tensor("other")));
}

Values broadcast_tensors(Builder& b, const Call& c) {
  Dims sizes;
  Inference rules(b.program(), b.pool(), Node{}, {});
  for (ValueId x : c.tensors("tensors")) sizes = rules.broadcast(sizes, b.shape(x));
  Values results;
  for (ValueId x : c.tensors("tensors")) results.push_back(b.expand(x, sizes));
  return results;
}

Values slice(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const SliceRange r = slice_range(b, c, x);
  return {b.slice(x, r.axis, r.start, r.length, r.step)};
}
Values narrow(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  Dim start = 0;
  if (c.is_tensor("start")) c.unsupported("'start' is a tensor");
  start = clamp_index(b, c.dim("start"), b.size(x, c.integer("dim")));
  return {b.slice(x, c.integer("dim"), start, c.dim("length"))};
}
Values select(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  Dim index = c.dim("index");
  const Dim size = b.size(x, c.integer("dim"));
  const Interval range = b.pool().bounds(index);
  if (range.max < 0) {
    index = b.pool().add(index, size);
  } else if (range.min < 0) {
    index = b.pool().select(b.pool().lt(index, 0), b.pool().add(index, size), index);
  }
  return {b.select(x, c.integer("dim"), index)};
}

Values view_dtype(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const DType target = c.dtype_or("dtype", b.dtype(x));
  return {target == b.dtype(x) ? x : b.add(Op::bitcast, {x}, {attr_dtype(target)})};
}
Values view_as_real(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const DType source = b.dtype(x), target = source == DType::c128  ? DType::f64
                                            : source == DType::c64 ? DType::f32
                                                                   : DType::f16;
  return {b.add(Op::bitcast, {x}, {attr_dtype(target), attr(AttrKey::k, Dim(1))})};
}
Values view_as_complex(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const DType source = b.dtype(x), target = source == DType::f64   ? DType::c128
                                            : source == DType::f32 ? DType::c64
                                                                   : DType::c32;
  return {b.add(Op::bitcast, {x}, {attr_dtype(target), attr(AttrKey::k, Dim(1))})};
}

Values as_strided(Builder& b, const Call& c) {
  return {b.as_strided(c.tensor("self"), c.dims("size"), c.dims("stride"),
                       c.has_argument("storage_offset") ? c.dim("storage_offset") : Dim(0))};
}
Values diagonal_view(Builder& b, const Call& c) {
  return {diagonal(b, c.tensor(c.target.find("linalg") != std::string::npos ? ArgumentName("A") : "self"),
                   c.integer("offset"), c.integer("dim1"), c.integer("dim2"))};
}

/// Windows along an axis become a new last axis.
Values unfold(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t size = c.integer("size"), step = c.integer("step");
  if (b.rank(x) == 0) return {b.reshape(x, {1})};
  const std::int64_t axis = b.normal_axis(x, c.integer("dimension"));
  Dims sizes = b.shape(x), strides = contiguous_strides(b, sizes);
  const auto a = static_cast<std::size_t>(axis);
  sizes.push_back(size);
  strides.push_back(strides[a]);
  sizes[a] = b.pool().add(b.pool().floordiv(b.pool().sub(sizes[a], size), step), 1);
  strides[a] = b.pool().mul(strides[a], step);
  return {b.as_strided(x, std::move(sizes), std::move(strides), 0)};
}

template <int kRank>
Values atleast(Builder& b, const Call& c) {
  const bool list = c.target.ends_with("Sequence");
  Values results;
  for (ValueId x : list ? c.tensors("tensors") : Values{c.tensor("self")}) {
    Dims sizes = b.shape(x);
    if (kRank == 3 && sizes.size() == 2) {
      sizes.push_back(1);
    } else if (kRank == 3 && sizes.size() == 1) {
      sizes = {1, sizes[0], 1};
    } else {
      while (sizes.size() < kRank) sizes.insert(sizes.begin(), 1);
    }
    results.push_back(b.reshape(x, std::move(sizes)));
  }
  return results;
}

constexpr Lowering kViewLowerings[] = {
    {"aten.view.default", view},
    {"aten.view_copy.default", view},
    {"aten._unsafe_view.default", view},
    {"aten.reshape.default", reshape},
    {"aten._reshape_copy.default", view},
    {"aten.view_as.default", view_as},
    {"aten.reshape_as.default", view_as},
    {"aten.resize.default", resize},
    {"aten.resize_as.default", resize_as},
    {"aten.flatten.using_ints", flatten},
    {"aten.ravel.default", ravel},
    {"aten.unflatten.int", unflatten},
    {"aten.unsqueeze.default", unsqueeze},
    {"aten.unsqueeze_copy.default", unsqueeze},
    {"aten.squeeze.default", squeeze},
    {"aten.squeeze.dim", squeeze_dims},
    {"aten.squeeze.dims", squeeze_dims},
    {"aten.squeeze_copy.default", squeeze},
    {"aten.squeeze_copy.dim", squeeze_dims},
    {"aten.squeeze_copy.dims", squeeze_dims},
    {"aten.permute.default", permute},
    {"aten.permute_copy.default", permute},
    {"aten.transpose.int", transpose},
    {"aten.transpose_copy.int", transpose},
    {"aten.swapaxes.default",
     [](Builder& b, const Call& c) -> Values {
       return {b.transpose(c.tensor("self"), c.integer("axis0"), c.integer("axis1"))};
     }},
    {"aten.swapdims.default", transpose},
    {"aten.t.default", t},
    {"aten.t_copy.default", t},
    {"aten.mT.default", mT},
    {"aten.mH.default", mH},
    {"aten.matrix_H.default", mH},
    {"aten.adjoint.default", mH},
    {"aten.numpy_T.default", reverse_axes},
    {"aten.movedim.int", movedim},
    {"aten.movedim.intlist", movedim},
    {"aten.moveaxis.int", movedim},
    {"aten.moveaxis.intlist", movedim},
    {"aten.expand.default", expand},
    {"aten.expand_copy.default", expand},
    {"aten.broadcast_to.default", expand},
    {"aten.expand_as.default", expand_as},
    {"aten.broadcast_tensors.default", broadcast_tensors},
    {"aten.slice.Tensor", slice},
    {"aten.slice_copy.Tensor", slice},
    {"aten.narrow.default", narrow},
    {"aten.narrow_copy.default", narrow},
    {"aten.select.int", select},
    {"aten.select_copy.int", select},
    {"aten.view.dtype", view_dtype},
    {"aten.view_copy.dtype", view_dtype},
    {"aten.view_as_real.default", view_as_real},
    {"aten.view_as_real_copy.default", view_as_real},
    {"aten.view_as_complex.default", view_as_complex},
    {"aten.view_as_complex_copy.default", view_as_complex},
    {"aten.as_strided.default", as_strided},
    {"aten.as_strided_copy.default", as_strided},
    {"aten.diagonal.default", diagonal_view},
    {"aten.diagonal_copy.default", diagonal_view},
    {"aten.linalg_diagonal.default", diagonal_view},
    {"aten.unfold.default", unfold},
    {"aten.unfold_copy.default", unfold},
    {"aten.atleast_1d.default", atleast<1>},
    {"aten.atleast_2d.default", atleast<2>},
    {"aten.atleast_3d.default", atleast<3>},
    {"aten.atleast_1d.Sequence", atleast<1>},
    {"aten.atleast_2d.Sequence", atleast<2>},
    {"aten.atleast_3d.Sequence", atleast<3>},
};

}  // namespace

std::span<const Lowering> view_lowerings() {
  return kViewLowerings;
}

std::span<const Lowering> movement_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (std::span<const Lowering> table :
         {view_lowerings(), splitting_lowerings(), joining_lowerings(), scatter_lowerings()})
      v.insert(v.end(), table.begin(), table.end());
    return v;
  }();
  return lowerings;
}

}  // namespace tern
