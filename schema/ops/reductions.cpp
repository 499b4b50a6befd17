// Shape rules of ops along axes: reduce, select_reduce, scan, sort, topk, histogram, searchsorted, segment_reduce.
// Normalizations are in normalizations.cpp.
#include <algorithm>
#include <cmath>

#include "schema/infer.h"
#include "schema/infer/checks.h"
#include "schema/kinds.h"
#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

/// reduce(x; kind, axes, keepdims, dtype, correction)
/// Combines all elements along `axes` (none named: all axes) into one. With `keepdims` the axes stay, of size 1.
///   sum, prod   x is converted to the compute type of `dtype` first; empty input gives 0, 1
///   mean        the sum divided by the count; dtype floating or complex; empty input gives NaN
///   max, min    dtype is x's; NaN wins; empty input fails the run
///   any, all    tests x != 0; dtype boolean or uint8
///   argmax, argmin  i64: position along the only axis named, or in the flattened x if `axes` is empty; NaN wins, then
///               the first of equal elements
///   var         sum of |x - mean|^2 / max(0, n - correction); dtype is real
///   bit_xor     integers only; dtype is x's
void infer_reduce(Inference& c) {
  const auto kind = static_cast<ReduceKind>(c.integer(AttrKey::kind));
  const TensorType& x = movable_operand(c, 0);
  const DType dtype = c.dtype();
  const bool complex = is_complex(x.dtype), number = dtype != DType::f4_e2m1;
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::prod:
      c.require(number && (!complex || is_complex(dtype) || dtype == DType::boolean),
                "complex numbers need a complex result");
      break;
    case ReduceKind::mean:
      c.require(number && (is_complex(dtype) || (is_floating(dtype) && !complex)),
                "a mean must be floating-point or complex");
      break;
    case ReduceKind::max:
    case ReduceKind::min:
      c.require(!complex && dtype == x.dtype, "needs real numbers, and a result of their type");
      break;
    case ReduceKind::any:
    case ReduceKind::all:
      c.require(dtype == DType::boolean || dtype == DType::u8, "the result must be boolean or uint8");
      break;
    case ReduceKind::argmax:
    case ReduceKind::argmin:
      c.require(!complex && dtype == DType::i64, "needs real numbers and an int64 result");
      break;
    case ReduceKind::var:
      c.require(is_floating(x.dtype) || complex, "a variance needs floating or complex numbers");
      c.require(number && is_floating(dtype), "a variance must be floating-point");
      break;
    case ReduceKind::bit_xor:
      c.require(dtype == x.dtype && (is_integral(dtype) || dtype == DType::boolean),
                "needs integers, and a result of their type");
      break;
  }
  const std::vector<std::size_t> axes = c.axes(AttrKey::axes, x.rank());
  if (kind == ReduceKind::argmax || kind == ReduceKind::argmin)
    c.require(axes.size() <= 1, "argmin and argmax take one axis or all");
  Dims shape;
  const bool keep = c.flag(AttrKey::keepdims);
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const bool reduced = axes.empty() || std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) shape.push_back(x.shape[i]);
    if (reduced && keep) shape.push_back(1);
  }
  c.out(dtype, std::move(shape));
}

Dims reduced_shape(Dims shape, std::size_t axis, bool keep) {
  if (keep) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return shape;
}

/// select_reduce(x; kind, axis, k, keepdims) -> values, indices (i64)
/// Picks one element of each line along `axis`, and returns its position.
///   max, min    NaN wins; the first of equal elements
///   median      the lower of the middle two; a NaN anywhere wins
///   nanmedian   ignores NaN; NaN if all elements are
///   mode        the most frequent element, the smallest of equally frequent elements
///   kthvalue    the k-th smallest, counted from 1; NaN is larger than all
/// The choice among equal elements is unspecified for median, nanmedian, mode and kthvalue.
void infer_select_reduce(Inference& c) {
  const auto kind = static_cast<SelectKind>(c.integer(AttrKey::kind));
  const TensorType& x = real_operand(c, 0);
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  if (kind == SelectKind::kthvalue) {
    const Dim k = c.node.dim(AttrKey::k), n = x.shape[axis];
    c.require(!k.is_const() || k.value() >= 1, "k must be at least 1");
    c.require(!(k.is_const() && n.is_const()) || k.value() <= n.value(), "k is larger than the axis");
  } else {
    c.require(!x.shape[axis].is(0), "an axis without elements cannot be selected from");
  }
  const Dims shape = reduced_shape(x.shape, axis, c.flag(AttrKey::keepdims));
  c.out(x.dtype, shape);
  c.out(DType::i64, shape);
}

/// scan(x; kind, axis, dtype) -> y [, indices (i64)]
/// y[i] combines x[0..i] along `axis`.
///   cumsum, cumprod   x is converted to `dtype` first; narrow types accumulate in their compute type
///   cummax, cummin    with indices, the last of equal elements; NaN wins and stays
///   logcumsumexp      floating or complex numbers
/// `dtype` may be absent if equal to x's.
void infer_scan(Inference& c) {
  const auto kind = static_cast<ScanKind>(c.integer(AttrKey::kind));
  const TensorType& x = movable_operand(c, 0);
  c.axis(AttrKey::axis, x.rank());
  const DType dtype = c.dtype_or(x.dtype);
  c.require(dtype != DType::f4_e2m1, "the result cannot be float4");
  switch (kind) {
    case ScanKind::cumsum:
    case ScanKind::cumprod:
      c.require(!is_complex(x.dtype) || is_complex(dtype), "complex numbers need a complex result");
      break;
    case ScanKind::cummax:
    case ScanKind::cummin:
      c.require(!is_complex(x.dtype) && dtype == x.dtype, "needs real numbers, and a result of their type");
      break;
    case ScanKind::logcumsumexp:
      c.require((is_floating(x.dtype) || is_complex(x.dtype)) && dtype == x.dtype, "needs floating or complex numbers");
      break;
  }
  c.out(dtype, x.shape);
  if (kind == ScanKind::cummax || kind == ScanKind::cummin) c.out(DType::i64, x.shape);
}

/// sort(x; axis, descending, stable) -> values, indices (i64). NaN is larger than all. `stable` keeps the order of
/// equal elements, otherwise unspecified.
void infer_sort(Inference& c) {
  const TensorType& x = real_operand(c, 0);
  c.axis(AttrKey::axis, x.rank());
  c.out(x.dtype, x.shape);
  c.out(DType::i64, x.shape);
}

/// topk(x; axis, k, largest) -> values, indices (i64): the k largest (or smallest) along `axis`, in that order. NaN is
/// larger than all; the order of equal elements is unspecified.
void infer_topk(Inference& c) {
  const TensorType& x = real_operand(c, 0);
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  const Dim k = c.node.dim(AttrKey::k), n = x.shape[axis];
  c.require(!(k.is_const() && n.is_const()) || k.value() <= n.value(), "k is larger than the axis");
  Dims shape = x.shape;
  shape[axis] = k;
  c.out(x.dtype, shape);
  c.out(DType::i64, std::move(shape));
}

/// histogram(x, edges?, weight?; bins, range, density, full) -> counts [bins], edges [bins + 1], both of x's dtype
/// Counts the elements of x (of any shape), or adds up `weight` (x's shape), in each bin; the last bin includes its
/// upper edge. Elements outside are ignored. Bins lie between the given `edges` (1-d, ascending), or divide `range` =
/// [low, high] into `bins` equal parts; without a range, or with an empty range, from the smallest to the largest
/// element. An empty range is widened by 1 (`full` = 0) or 0.5 (`full` = 1) to each side. With `density` the counts are
/// divided by their sum and the width of their bin.
void infer_histogram(Inference& c) {
  const TensorType& x = real_operand(c, 0);
  if (c.has(2)) {
    const TensorType& w = real_operand(c, 2);
    c.require(w.dtype == x.dtype && w.shape.size() == x.shape.size(),
              "weights must have the type and shape of the elements");
    for (std::size_t i = 0; i < x.shape.size(); ++i)
      c.require_equal(w.shape[i], x.shape[i], "sizes of the weights and the elements");
  }
  Dim bins;
  if (c.has(1)) {
    const TensorType& e = real_operand(c, 1);
    c.require(e.rank() == 1 && e.dtype == x.dtype, "the edges must be a list of the elements' type");
    c.require(!e.shape[0].is_const() || e.shape[0].value() >= 1, "at least one edge is needed");
    bins = c.pool.sub(e.shape[0], 1);
  } else {
    c.require(c.node.has(AttrKey::bins), "attribute 'bins' is missing");
    bins = c.integer(AttrKey::bins);
    const std::vector<double>& range = c.node.numbers(AttrKey::range);
    c.require(range.empty() || range[0] <= range[1], "the range ends before it begins");
  }
  c.out(x.dtype, {bins});
  c.out(x.dtype, {c.pool.add(bins, 1)});
}

/// searchsorted(sorted, values, sorter?; right, dtype) -> positions of the shape of values, int32 or int64 (`dtype`,
/// else int64)
/// Insertion position of each value in the last axis of `sorted`: before equal elements, or after them with `right`.
/// `sorted` is 1-d, or has the leading sizes of `values`. `sorter` (i64, the shape of `sorted`) gives the reading
/// order.
void infer_searchsorted(Inference& c) {
  const TensorType& s = real_operand(c, 0);
  const TensorType& v = real_operand(c, 1);
  c.require(s.dtype == v.dtype, "the sequence and the values must have the same type");
  c.require(s.rank() >= 1, "the sequence needs an axis");
  if (s.rank() > 1) {
    c.require(s.rank() == v.rank(), "a sequence of several axes needs values with the same number of axes");
    for (std::size_t i = 0; i + 1 < s.shape.size(); ++i) c.require_equal(s.shape[i], v.shape[i], "leading sizes");
  }
  if (c.has(2)) {
    const TensorType& o = plain(c, 2);
    c.require(o.dtype == DType::i64 && o.rank() == s.rank(),
              "the sorter must be int64 and have the shape of the sequence");
    for (std::size_t i = 0; i < s.shape.size(); ++i)
      c.require_equal(s.shape[i], o.shape[i], "sizes of the sorter and the sequence");
  }
  const DType dtype = c.dtype();
  c.require(dtype == DType::i32 || dtype == DType::i64, "positions must be int32 or int64");
  c.out(dtype, v.shape);
}

/// segment_reduce(x, offsets; kind, axis, value) -> x.shape[:axis] + [n] + x.shape[axis+1:]
/// `offsets` (int32 or int64) has the shape x.shape[:axis] + [n + 1] and ascends: segment i of a line holds its
/// elements offsets[i] up to offsets[i+1]. Kinds: sum, prod, mean, max, min (NaN wins). `value` is the initial value of
/// each segment; without it an empty segment gives 0, 1, NaN, -inf, inf.
void infer_segment_reduce(Inference& c) {
  const TensorType& x = floating_operand(c, 0);
  const TensorType& o = index_operand(c, 1);
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  c.require(o.shape.size() == axis + 1, "offsets must have the axes up to the one reduced");
  for (std::size_t i = 0; i < axis; ++i) c.require_equal(o.shape[i], x.shape[i], "leading sizes");
  c.require(!o.shape[axis].is(0), "offsets need at least one entry");
  Dims shape = x.shape;
  shape[axis] = c.pool.sub(o.shape[axis], 1);
  c.out(x.dtype, std::move(shape));
}

constexpr Attribute kKeepdims = flag(AttrKey::keepdims, "reduced axes stay, of size 1");
constexpr AttrRecord kReduce[] = {
    required(AttrKey::kind, kReduceNames, "how elements are combined"),
    optional_attribute(AttrKey::axes, AttrType::axes, "all axes", "that are reduced"),
    kKeepdims,
    required(AttrKey::dtype, AttrType::dtype, "of the result"),
    defaulted_number(AttrKey::correction, 1, "var: the number subtracted from the number of elements"),
};
constexpr AttrRecord kSelectReduce[] = {
    required(AttrKey::kind, kSelectNames, "which element"),
    kAlongAxis,
    defaulted(AttrKey::k, AttrType::dim, 1, "kthvalue: from 1"),
    kKeepdims,
};
constexpr AttrRecord kScan[] = {
    required(AttrKey::kind, kScanNames, "how elements are combined"),
    kAlongAxis,
    optional_attribute(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of the result"),
};
constexpr AttrRecord kSort[] = {
    kAlongAxis,
    flag(AttrKey::descending, "the largest first"),
    flag(AttrKey::stable, "equal elements keep their order"),
};
constexpr AttrRecord kTopk[] = {
    kAlongAxis,
    required(AttrKey::k, AttrType::dim, "the number of elements").minimum(0),
    defaulted(AttrKey::largest, AttrType::boolean, 1, "the largest elements, not the smallest"),
};
constexpr AttrRecord kHistogram[] = {
    optional_attribute(AttrKey::bins, AttrType::integer, "between the edges", "the number of bins").bounds(1, kHuge),
    defaulted_number(AttrKey::range, 0, "the outer edges; two equal ones: the smallest and the largest element",
                     AttrType::numbers)
        .exactly(2)
        .finite(),
    flag(AttrKey::density, "counts divided by their sum and the width of their bin"),
    flag(AttrKey::full, "an empty range is widened by 0.5 to each side, not by 1"),
};
constexpr AttrRecord kSearchsorted[] = {
    flag(AttrKey::right, "after equal elements, not before"),
    defaulted(AttrKey::dtype, AttrType::dtype, static_cast<std::int64_t>(DType::i64),
              "of the positions: int32 or int64"),
};
constexpr AttrRecord kSegmentReduce[] = {
    required(AttrKey::kind, kScatterNames, "how elements are combined").bounds(1, kScatterKinds - 1),
    kAlongAxis,
    optional_attribute(AttrKey::value, AttrType::number, "the neutral element", "the first value of each segment"),
};

constexpr OpRecord kReductionsOps[] = {
    TERN_OP(20, reduce, "x -> y", "all elements along axes combined into one")
        .attrs(kReduce)
        .traits_of(Trait::foldable)
        .rule(infer_reduce),
    TERN_OP(21, select_reduce, "x -> values, indices", "one element of each line, and where it was")
        .attrs(kSelectReduce)
        .rule(infer_select_reduce),
    TERN_OP(22, scan, "x -> y, indices?",
            "element i combines elements 0..i of its line; cummax and cummin have indices")
        .attrs(kScan)
        .costs(scan_operations)
        .traits_of(Trait::foldable)
        .rule(infer_scan),
    TERN_OP(23, sort, "x -> values, indices", "each line in order; NaN is larger than all")
        .attrs(kSort)
        .costs(sort_operations)
        .rule(infer_sort),
    TERN_OP(24, topk, "x -> values, indices", "the k largest or smallest elements of each line, in order")
        .attrs(kTopk)
        .costs(topk_operations)
        .rule(infer_topk),
    TERN_OP(30, histogram, "x, edges?, weight? -> counts, edges",
            "the number of elements, or their weight, in each bin")
        .attrs(kHistogram)
        .rule(infer_histogram),
    TERN_OP(31, searchsorted, "sorted, values, sorter? -> positions", "where values go in a sorted sequence")
        .attrs(kSearchsorted)
        .rule(infer_searchsorted),
    TERN_OP(32, segment_reduce, "x, offsets -> y", "elements offsets[i] up to offsets[i+1] of a line combined")
        .attrs(kSegmentReduce)
        .rule(infer_segment_reduce),
};

}  // namespace

std::span<const OpRecord> reductions_ops() {
  return kReductionsOps;
}

}  // namespace tern::ops
