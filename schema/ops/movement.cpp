// Rules of ops that move elements without computing: views, concat, pad, and writes into a part of a tensor.
#include <fmt/format.h>

#include "schema/infer.h"
#include "schema/linear.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

constexpr std::int64_t kUnboundedIndex = kNoBound - 1;

Dims sizes_attr(Inference& c) {
  const Dims& sizes = c.node.dims(AttrKey::sizes);
  c.require(sizes.size() <= kMaxRank, "there are more sizes than the highest rank");
  for (Dim d : sizes) c.require(c.pool.bounds(d).max >= 0, "a size is negative");
  return sizes;
}

// reshape(x; sizes): the same elements in row-major order under other sizes.
void reshape(Inference& c) {
  const TensorType& x = c.in(0);
  Dims sizes = sizes_attr(c);
  c.require(!x.quantized(), "a quantized value must be dequantized first");
  c.require_equal(c.pool.product(x.shape), c.pool.product(sizes), "the number of elements before and after");
  c.out(x.dtype, std::move(sizes));
}

// permute(x; axes): result axis i is axis axes[i] of x.
void permute(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(!x.quantized(), "a quantized value must be dequantized first");
  const auto axes = c.axes(AttrKey::axes, x.rank());
  c.require(axes.size() == x.shape.size(), "attribute 'axes' must name every axis once");
  c.require(elements_per_byte(x.dtype) == 1, "packed elements cannot be permuted");
  Dims sizes;
  for (std::size_t a : axes) sizes.push_back(x.shape[a]);
  c.out(x.dtype, std::move(sizes));
}

// Checks that the elements start, start + step, ... of an axis lie inside the axis.
void check_range(Inference& c, Dim size, Dim start, Dim length, std::int64_t step) {
  c.require(step != 0, "attribute 'step' is zero");
  c.require(c.pool.bounds(length).max >= 0, "attribute 'length' is negative");
  if (c.pool.bounds(length).max == 0) return;
  if (start.is_const() && length.is_const() && size.is_const()) {
    const __int128 last = static_cast<__int128>(start.value()) + static_cast<__int128>(length.value() - 1) * step;
    const bool inside = start.value() >= 0 && start.value() < size.value() && last >= 0 && last < size.value();
    c.require(inside, "the slice reaches outside its axis");
  }
}

// slice(x; axis, start, length, step): element i along the axis is element start + i*step of x; step may be negative.
void slice(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(!x.packed(), "packed elements cannot be sliced");
  c.require(x.rank() > 0, "a tensor without dimensions cannot be sliced");
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  const std::int64_t step = c.integer(AttrKey::step);
  const Dim start = c.node.dim(AttrKey::start), length = c.node.dim(AttrKey::length);
  check_range(c, x.shape[axis], start, length, step);
  Dims sizes = x.shape;
  sizes[axis] = length;
  c.out(x.dtype, std::move(sizes));
}

// expand(x; sizes): NumPy's broadcast_to; new axes come first.
void expand(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(!x.packed(), "packed elements cannot be expanded");
  Dims sizes = sizes_attr(c);
  c.require(sizes.size() >= x.shape.size(), "fewer sizes than the input has axes");
  const std::size_t skip = sizes.size() - x.shape.size();
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (!x.shape[i].is(1)) c.require_equal(x.shape[i], sizes[skip + i], "sizes before and after expanding");
  }
  c.out(x.dtype, std::move(sizes));
}

// Checks that the farthest element reached by (sizes, strides, offset) lies below `numel`; negative elements are never
// reached.
void check_extent(Inference& c, const TensorType& base, const Dims& sizes, const Dims& strides, Dim offset) {
  c.require(strides.size() == sizes.size(), "the numbers of strides and sizes must be equal");
  __int128 last = offset.is_const() ? offset.value() : 0;
  bool known = offset.is_const();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is(0)) return;
    known = known && sizes[i].is_const() && strides[i].is_const();
    if (known) last += static_cast<__int128>(sizes[i].value() - 1) * strides[i].value();
    if (last > (static_cast<__int128>(1) << 62)) c.fail("the view reaches beyond 64 bits");
  }
  const Dim numel = c.pool.product(base.shape);
  if (known && numel.is_const()) c.require(last < numel.value(), "the view reaches outside its base");
}

// as_strided(x; sizes, strides, offset): a view of x taken as a run of elements in row-major order. Strides count
// elements and are not negative.
void as_strided(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(!x.packed(), "packed elements cannot be viewed by strides");
  Dims sizes = sizes_attr(c);
  check_extent(c, x, sizes, c.node.dims(AttrKey::strides), c.node.dim(AttrKey::offset));
  c.out(x.dtype, std::move(sizes));
}

// bitcast(x; dtype): the same bytes as elements of another dtype; the last axis grows or shrinks with the element size.
// Complex to real adds a last axis of 2 (requested by attribute k = 1), real to complex drops the axis.
void bitcast(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(!x.quantized(), "a quantized value must be dequantized first");
  const DType target = c.dtype();
  const int from_size = element_size(x.dtype), to_size = element_size(target);
  c.require(elements_per_byte(x.dtype) == elements_per_byte(target), "a packed type cannot be bit cast");
  Dims sizes = x.shape;
  if (c.flag(AttrKey::k)) {
    if (is_complex(x.dtype)) {
      c.require(!is_complex(target) && to_size * 2 == from_size, "a complex type views as its real type");
      sizes.push_back(2);
    } else {
      c.require(is_complex(target) && to_size == 2 * from_size, "a real type views as its complex type");
      c.require(!sizes.empty(), "the last axis must have size 2");
      c.require_equal(sizes.back(), 2, "the last axis and 2");
      sizes.pop_back();
    }
  } else if (from_size != to_size) {
    c.require(!sizes.empty(), "a tensor without dimensions cannot change its element size");
    if (from_size > to_size) {
      sizes.back() = c.pool.mul(sizes.back(), from_size / to_size);
    } else {
      const Dim r = c.pool.mod(sizes.back(), to_size / from_size);
      c.require(!r.is_const() || r.is(0), "the last axis is not a multiple of the new element size");
      sizes.back() = c.pool.floordiv(sizes.back(), to_size / from_size);
    }
  }
  c.out(target, std::move(sizes));
}

// concat(xs...; axis): joins tensors along an axis; all other sizes and the dtype agree.
void concat(Inference& c) {
  const TensorType& first = c.in(0);
  c.require(first.rank() > 0, "tensors without dimensions cannot be concatenated");
  const std::size_t axis = c.axis(AttrKey::axis, first.rank());
  Dims sizes = first.shape, lengths = {first.shape[axis]};
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    const TensorType& x = c.in(i);
    c.require(x.dtype == first.dtype && !x.packed(), "all operands need the same dtype");
    c.require(x.rank() == first.rank(), "all operands need the same rank");
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      if (a != axis) c.require_equal(sizes[a], x.shape[a], "sizes of the other axes");
    }
    lengths.push_back(x.shape[axis]);
  }
  sizes[axis] = sum(c.pool, lengths);
  c.out(first.dtype, std::move(sizes));
}

// pad(x; before, after, mode, value): one entry of before and after per axis; negative entries crop (constant mode
// only). mode 0 constant, 1 reflect (without the edge), 2 replicate the edge, 3 circular.
void pad(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(!x.packed(), "packed elements cannot be padded");
  const Dims &pads_before = c.list(AttrKey::before, x.shape.size()),
             &pads_after = c.list(AttrKey::after, x.shape.size());
  const std::int64_t mode = c.integer(AttrKey::mode);
  Dims sizes = x.shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim size = x.shape[i];
    sizes[i] = c.pool.add(size, c.pool.add(pads_before[i], pads_after[i]));
    c.require(c.pool.bounds(sizes[i]).max >= 0, "a size becomes negative");
    if (mode != 0 && size.is_const()) {
      const bool pads = !pads_before[i].is(0) || !pads_after[i].is(0);
      c.require(!pads || size.value() > 0, "an empty axis cannot be repeated");
      const std::int64_t limit = mode == 1 ? size.value() - 1 : mode == 3 ? size.value() : kUnboundedIndex;
      for (Dim p : {pads_before[i], pads_after[i]})
        c.require(!pads || !p.is_const() || p.value() <= limit, "padding is wider than the axis allows");
    }
    for (Dim p : {pads_before[i], pads_after[i]}) {
      c.require(mode == 0 || c.pool.bounds(p).max >= 0, "only the constant mode allows negative padding");
    }
  }
  c.out(x.dtype, std::move(sizes));
}

// slice_scatter(x, src; axis, start, length, step): x with the elements selected by slice replaced by src.
void slice_scatter(Inference& c) {
  const TensorType &x = c.in(0), &src = c.in(1);
  c.require(x.dtype == src.dtype && !x.packed(), "both operands need the same unpacked dtype");
  c.require(x.rank() > 0 && src.rank() == x.rank(), "both operands need the same rank, at least 1");
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  const std::int64_t step = c.integer(AttrKey::step);
  check_range(c, x.shape[axis], c.node.dim(AttrKey::start), src.shape[axis], step);
  for (std::size_t a = 0; a < x.shape.size(); ++a) {
    if (a != axis) c.require_equal(x.shape[a], src.shape[a], "sizes of the other axes");
  }
  c.out(x.dtype, x.shape);
}

// as_strided_scatter(x, src; strides, offset): x with the elements selected by as_strided (src's sizes) replaced by
// src.
void as_strided_scatter(Inference& c) {
  const TensorType &x = c.in(0), &src = c.in(1);
  c.require(x.dtype == src.dtype && !x.packed(), "both operands need the same unpacked dtype");
  check_extent(c, x, src.shape, c.node.dims(AttrKey::strides), c.node.dim(AttrKey::offset));
  c.out(x.dtype, x.shape);
}

constexpr AttrRecord kReshape[] = {
    optional_attribute(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
};
constexpr AttrRecord kPermute[] = {
    optional_attribute(AttrKey::axes, AttrType::axes, "no axes", "axis i of the result is axis axes[i] of x"),
};
constexpr std::int64_t kAnyStep = std::numeric_limits<std::int64_t>::max() - 1;
constexpr AttrRecord kSlice[] = {
    required(AttrKey::axis, AttrType::axis, "along which"),
    required(AttrKey::start, AttrType::dim, "the first element"),
    required(AttrKey::length, AttrType::dim, "the number of elements"),
    defaulted(AttrKey::step, AttrType::integer, 1, "from one element to the next; not 0").bounds(-kAnyStep, kAnyStep),
};
constexpr AttrRecord kExpand[] = {
    optional_attribute(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
};
constexpr AttrRecord kAsStrided[] = {
    optional_attribute(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
    optional_attribute(AttrKey::strides, AttrType::dims, "no axes", "in elements").minimum(0),
    defaulted(AttrKey::offset, AttrType::dim, 0, "the first element").minimum(0),
};
constexpr AttrRecord kBitcast[] = {
    required(AttrKey::dtype, AttrType::dtype, "of the result"),
    flag(AttrKey::k, "complex elements as two real ones, along an additional axis"),
};
constexpr AttrRecord kSliceScatter[] = {
    required(AttrKey::axis, AttrType::axis, "along which"),
    defaulted(AttrKey::start, AttrType::dim, 0, "the first element replaced"),
    optional_attribute(AttrKey::length, AttrType::dim, "the size of src",
                       "the number of elements; also follows from src"),
    defaulted(AttrKey::step, AttrType::integer, 1, "from one element to the next; not 0").bounds(-kAnyStep, kAnyStep),
};
constexpr AttrRecord kAsStridedScatter[] = {
    optional_attribute(AttrKey::strides, AttrType::dims, "no axes", "in elements").minimum(0),
    defaulted(AttrKey::offset, AttrType::dim, 0, "the first element").minimum(0),
};
constexpr AttrRecord kConcat[] = {
    required(AttrKey::axis, AttrType::axis, "along which"),
};
constexpr AttrRecord kPad[] = {
    required(AttrKey::before, AttrType::dims, "elements added in front of each axis; negative numbers crop"),
    required(AttrKey::after, AttrType::dims, "elements added behind each axis"),
    defaulted(AttrKey::mode, kPadNames, 0, "the kind of the added elements"),
    defaulted_number(AttrKey::value, 0, "mode constant: a number, or a real and an imaginary part", AttrType::numbers),
};

constexpr OpRecord kMovementOps[] = {
    TERN_OP(1, reshape, "x -> y", "the same elements in row-major order under other sizes")
        .attrs(kReshape)
        .traits_of(Trait::view, Trait::plain, Trait::foldable)
        .rule(reshape),
    TERN_OP(2, permute, "x -> y", "the axes in another order")
        .attrs(kPermute)
        .traits_of(Trait::view, Trait::plain, Trait::foldable)
        .rule(permute),
    TERN_OP(3, slice, "x -> y", "elements start, start + step, ... of an axis")
        .attrs(kSlice)
        .traits_of(Trait::view, Trait::plain, Trait::foldable)
        .rule(slice),
    TERN_OP(4, expand, "x -> y", "NumPy's broadcast_to; new axes come first")
        .attrs(kExpand)
        .traits_of(Trait::view, Trait::plain, Trait::foldable)
        .rule(expand),
    TERN_OP(5, as_strided, "x -> y", "a view of x, taken as a run of elements in row-major order")
        .attrs(kAsStrided)
        .traits_of(Trait::view, Trait::plain, Trait::foldable)
        .rule(as_strided),
    TERN_OP(6, bitcast, "x -> y", "the same bytes as elements of another dtype; the last axis grows or shrinks")
        .attrs(kBitcast)
        .traits_of(Trait::view, Trait::plain, Trait::foldable)
        .rule(bitcast),
    TERN_OP(45, slice_scatter, "x, src -> y", "x with the elements that slice would give replaced by src")
        .attrs(kSliceScatter)
        .traits_of(Trait::foldable)
        .rule(slice_scatter),
    TERN_OP(46, as_strided_scatter, "x, src -> y", "x with the elements that as_strided would give replaced by src")
        .attrs(kAsStridedScatter)
        .rule(as_strided_scatter),
    TERN_OP(47, concat, "xs+ -> y", "one after the other along an axis")
        .attrs(kConcat)
        .traits_of(Trait::plain, Trait::foldable)
        .rule(concat),
    TERN_OP(48, pad, "x -> y", "elements added around each axis, or cropped")
        .attrs(kPad)
        .traits_of(Trait::plain, Trait::foldable)
        .rule(pad),
};

}  // namespace

std::span<const OpRecord> movement_ops() {
  return kMovementOps;
}

}  // namespace tern::ops
