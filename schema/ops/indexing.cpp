// Shape rules of ops moving elements by positions in tensors, and of ops with data-dependent sizes.
#include "schema/infer.h"
#include "schema/infer/checks.h"
#include "schema/kinds.h"
#include "schema/linear.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

/// gather(x, index; axis): result[i][j] = x[index[i][j]][j] for axis 0, and so on; the shape of index, which must not
/// exceed x's in the other axes. A position outside 0..size-1 fails the run.
void infer_gather(Inference& c) {
  const TensorType& x = movable_operand(c, 0);
  const TensorType& index = index_operand(c, 1);
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  c.require(index.rank() == x.rank(), "the index must have the rank of the operand");
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis) continue;
    c.require(difference(c.pool, x.shape[i], index.shape[i]).max >= 0, "the index is larger than the operand");
  }
  c.out(x.dtype, index.shape);
}

/// index_select(x, index; axis, dtype): x.shape[:axis] + index.shape + x.shape[axis+1:]. A position outside 0..size-1
/// fails the run. For a quantized x, with rows along the last axis, the result holds the selected rows dequantized to
/// `dtype`.
void infer_index_select(Inference& c) {
  const bool quantized = c.in(0).quantized();
  const TensorType& x = quantized ? c.in(0) : movable_operand(c, 0);
  const TensorType& index = index_operand(c, 1);
  const auto axis = static_cast<std::ptrdiff_t>(c.axis(AttrKey::axis, x.rank()));
  c.require(c.node.has(AttrKey::dtype) == quantized,
            "a quantized operand needs attribute 'dtype', and no other operand takes it");
  if (quantized) {
    c.require(axis + 1 < x.rank(), "only whole rows of a quantized value can be selected");
    require_numbers_type(c);
  }
  Dims shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), index.shape.begin(), index.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  c.out(quantized ? c.dtype() : x.dtype, std::move(shape));
}

/// Shape of x[idx...]: the common shape of the indices (operands first, first + 1, ...) + x.shape[k:].
Dims indexed_shape(const Inference& c, const TensorType& x, std::size_t first) {
  const std::size_t k = c.input_count() - first;
  c.require(k <= x.shape.size(), "there are more indices than axes");
  const TensorType& lead = index_operand(c, first);
  for (std::size_t i = first + 1; i < c.input_count(); ++i) {
    const TensorType& index = index_operand(c, i);
    c.require(index.rank() == lead.rank(), "the indices must have the same shape");
    for (std::size_t d = 0; d < lead.shape.size(); ++d)
      c.require_equal(index.shape[d], lead.shape[d], "sizes of the indices");
  }
  Dims shape = lead.shape;
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(k), x.shape.end());
  return shape;
}

/// index(x, idx_0 .. idx_k-1): result[p, ...] = x[idx_0[p], .., idx_k-1[p], ...]; the shape of the indices +
/// x.shape[k:]. Negative positions count from the end; positions outside fail the run.
void infer_index(Inference& c) {
  const TensorType& x = movable_operand(c, 0);
  c.out(x.dtype, indexed_shape(c, x, 1));
}

/// index_put(x, values, idx_0 .. idx_k-1; accumulate): x with x[idx...] replaced by `values` (broadcast to index's
/// result shape), or increased by them. Without `accumulate`, the last of repeated positions wins. Positions as for
/// index.
void infer_index_put(Inference& c) {
  const TensorType& x = movable_operand(c, 0);
  const TensorType& values = movable_operand(c, 1);
  c.require(values.dtype == x.dtype, "the values must have the type of the operand");
  const Dims shape = indexed_shape(c, x, 2);
  c.require(values.shape.size() <= shape.size(), "the values have more axes than their destination");
  const std::size_t skip = shape.size() - values.shape.size();
  for (std::size_t i = 0; i < values.shape.size(); ++i) {
    if (!values.shape[i].is(1))
      c.require_equal(values.shape[i], shape[skip + i], "sizes of the values and their destination");
  }
  c.out(x.dtype, x.shape);
}

/// scatter(x, index, src; axis, kind, include_self): x with src[i][j] combined into position [index[i][j]][j] for axis
/// 0, and so on. kind: set (the last wins), sum, prod, mean, max, min. With include_self = 0, x's values at written
/// positions do not take part. index must not exceed src, nor x in the other axes. A zero-dimensional src broadcasts to
/// index's shape. A position outside 0..size-1 fails the run.
void infer_scatter(Inference& c) {
  const TensorType& x = movable_operand(c, 0);
  const TensorType& index = index_operand(c, 1);
  const TensorType& src = movable_operand(c, 2);
  const auto kind = static_cast<ScatterKind>(c.integer(AttrKey::kind));
  if (kind == ScatterKind::mean || kind == ScatterKind::max || kind == ScatterKind::min) {
    c.require(!is_complex(x.dtype), "needs real numbers");
  }
  c.require(src.dtype == x.dtype, "the source must have the type of the operand");
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  c.require(index.rank() == x.rank() && (src.rank() == x.rank() || src.rank() == 0),
            "index and source must have the rank of the operand");
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const auto exceeds = [&](Dim size) { return difference(c.pool, size, index.shape[i]).max < 0; };
    c.require(src.rank() == 0 || !exceeds(src.shape[i]), "the index is larger than the source");
    c.require(i == axis || !exceeds(x.shape[i]), "the index is larger than the operand");
  }
  c.out(x.dtype, x.shape);
}

/// nonzero(x; symbols = [count]) -> i64 [count, rank]: positions of non-zero elements, in row-major order.
void infer_nonzero(Inference& c) {
  const TensorType& x = movable_operand(c, 0);
  c.out(DType::i64, {data_sizes(c, 1)[0], x.rank()});
}

/// masked_select(x, mask; symbols = [count]) -> [count]: elements of x under a true mask, both broadcast to one shape,
/// in row-major order.
void infer_masked_select(Inference& c) {
  const TensorType& x = movable_operand(c, 0);
  const TensorType& mask = plain(c, 1);
  c.require(mask.dtype == DType::boolean, "the mask must be boolean");
  c.require(c.broadcast(x.shape, mask.shape).size() <= static_cast<std::size_t>(kMaxRank), "there are too many axes");
  c.out(x.dtype, {data_sizes(c, 1)[0]});
}

/// unique(x; axis, consecutive, symbols = [count]) -> values, inverse (i64), counts (i64 [count])
/// No `axis`: the distinct elements of x in ascending order [count], for each element the position of its value (x's
/// shape), and the number of occurrences. `axis` given: likewise for the slices along that axis, compared as sequences;
/// values has x's shape with `count` at that axis, inverse is 1-d. `consecutive`: runs of equal elements, in the order
/// of x. NaN differs from itself and sorts last.
void infer_unique(Inference& c) {
  const TensorType& x = real_operand(c, 0);
  const bool by_axis = c.node.has(AttrKey::axis);
  const Dim count = data_sizes(c, 1)[0];
  Dims values = {count}, inverse = x.shape;
  if (by_axis) {
    const std::size_t axis = c.axis(AttrKey::axis, x.rank());
    inverse = {x.shape[axis]};
    values = x.shape;
    values[axis] = count;
  }
  c.out(x.dtype, std::move(values));
  c.out(DType::i64, std::move(inverse));
  c.out(DType::i64, {count});
}

/// bincount(x, weights?; length, symbols = [count]) -> [count]: occurrences of 0, 1, ... in x (1-d integers), or sums
/// of their weights; count is the largest element + 1, at least `length`. i64 without weights, else the weights' type.
/// Negative elements fail the run.
void infer_bincount(Inference& c) {
  const TensorType& x = plain(c, 0);
  c.require(is_integral(x.dtype) && x.rank() == 1, "needs a list of integers");
  DType dtype = DType::i64;
  if (c.has(1)) {
    const TensorType& w = plain(c, 1);
    c.require(w.dtype == DType::f32 || w.dtype == DType::f64, "the weights must be float32 or float64");
    c.require(w.rank() == 1, "the weights must be a list");
    c.require_equal(w.shape[0], x.shape[0], "the number of weights and of elements");
    dtype = w.dtype;
  }
  c.out(dtype, {data_sizes(c, 1)[0]});
}

/// embedding_bag(weight [rows, width], indices [n], offsets [bags], per_sample_weights? [n]; kind, full, padding_index)
///   -> y [bags, width], bag_of [n] (i64), bag_size [bags] (i64), max_indices [bags, width] (i64)
/// Bag i combines the rows indices[offsets[i]] up to indices[offsets[i+1]] by sum, mean or max, skipping row
/// `padding_index` (-1: none). With `full` the last offset only ends the last bag. Empty bags give zeros.
/// per_sample_weights multiply the rows of a sum. max_indices holds the source row of each maximum (-1: none), and is
/// empty [0, 0] unless kind is max.
void infer_embedding_bag(Inference& c) {
  const auto kind = static_cast<BagKind>(c.integer(AttrKey::kind));
  const TensorType& weight = floating_operand(c, 0);
  const TensorType& indices = index_operand(c, 1);
  const TensorType& offsets = index_operand(c, 2);
  c.require(weight.rank() == 2 && indices.rank() == 1 && offsets.rank() == 1,
            "needs a matrix, a list of indices and a list of offsets");
  if (c.has(3)) {
    const TensorType& w = plain(c, 3);
    c.require(kind == BagKind::sum && w.dtype == weight.dtype && w.rank() == 1,
              "weights per sample need sums and the type of the matrix");
    c.require_equal(w.shape[0], indices.shape[0], "the number of weights and of indices");
  }
  const bool full = c.flag(AttrKey::full);
  c.require(!full || !offsets.shape[0].is(0), "at least one offset is needed");
  const Dim bags = full ? c.pool.sub(offsets.shape[0], 1) : offsets.shape[0];
  const Dim width = weight.shape[1];
  c.out(weight.dtype, {bags, width});
  c.out(DType::i64, {indices.shape[0]});
  c.out(DType::i64, {bags});
  c.out(DType::i64, kind == BagKind::max ? Dims{bags, width} : Dims{0, 0});
}

/// repeat_interleave(x, repeats; axis, symbols = [count]): slice i along `axis` repeated repeats[i] times (repeats: 1-d
/// int32 or int64, of the size of that axis, or of one element). count is the sum.
void infer_repeat_interleave(Inference& c) {
  const TensorType& x = movable_operand(c, 0);
  const TensorType& repeats = index_operand(c, 1);
  const std::size_t axis = c.axis(AttrKey::axis, x.rank());
  c.require(repeats.rank() == 1, "the repeats must be a list");
  if (!repeats.shape[0].is(1)) c.require_equal(repeats.shape[0], x.shape[axis], "the number of repeats and the axis");
  Dims shape = x.shape;
  shape[axis] = data_sizes(c, 1)[0];
  c.out(x.dtype, std::move(shape));
}

constexpr Attribute kIndexedAxis = required(AttrKey::axis, AttrType::axis, "that is indexed");
constexpr Attribute kCount = required(AttrKey::symbols, AttrType::symbols, "the number of results").exactly(1);
constexpr AttrRecord kGather[] = {kIndexedAxis};
constexpr AttrRecord kIndexSelect[] = {
    kIndexedAxis,
    optional_attribute(AttrKey::dtype, AttrType::dtype, "that of x", "of the numbers of a quantized x"),
};
constexpr AttrRecord kIndexPut[] = {flag(AttrKey::accumulate, "adds the values to x, instead of replacing it")};
constexpr AttrRecord kScatter[] = {
    kIndexedAxis,
    required(AttrKey::kind, kScatterNames, "how elements of src are joined"),
    defaulted(AttrKey::include_self, AttrType::boolean, 1, "elements of x take part at the places written"),
};
constexpr AttrRecord kNonzero[] = {kCount};
constexpr AttrRecord kMaskedSelect[] = {kCount};
constexpr AttrRecord kUnique[] = {
    optional_attribute(AttrKey::axis, AttrType::axis, "elements of the flattened x", "whose slices are compared"),
    flag(AttrKey::consecutive, "runs of equals, in the order of x"),
    kCount,
};
constexpr AttrRecord kBincount[] = {
    defaulted(AttrKey::length, AttrType::dim, 0, "the least size of the result").minimum(0),
    kCount,
};
constexpr AttrRecord kEmbeddingBag[] = {
    required(AttrKey::kind, kBagNames, "how rows are joined"),
    flag(AttrKey::full, "the last offset only ends the last bag"),
    defaulted(AttrKey::padding_index, AttrType::integer, -1, "a row to leave out; -1: none").bounds(-1, kHuge),
};
constexpr AttrRecord kRepeatInterleave[] = {required(AttrKey::axis, AttrType::axis, "along which"), kCount};

constexpr OpRecord kIndexingOps[] = {
    TERN_OP(40, gather, "x, index -> y", "y[i][j] = x[index[i][j]][j] for axis 0, and so on")
        .attrs(kGather)
        .traits_of(Trait::plain, Trait::foldable, Trait::reads_part)
        .rule(infer_gather),
    TERN_OP(41, index_select, "x, index -> y", "slices of x at the positions of index")
        .attrs(kIndexSelect)
        .traits_of(Trait::plain, Trait::foldable, Trait::reads_part)
        .rule(infer_index_select),
    TERN_OP(42, index, "x, indices+ -> y", "x[indices...]; negative positions count from the end")
        .traits_of(Trait::plain, Trait::foldable)
        .rule(infer_index),
    TERN_OP(43, index_put, "x, values, indices+ -> y",
            "x with x[indices...] replaced by the values, or increased by them")
        .attrs(kIndexPut)
        .rule(infer_index_put),
    TERN_OP(44, scatter, "x, index, src -> y",
            "x with src[i][j] joined to place [index[i][j]][j] for axis 0, and so on")
        .attrs(kScatter)
        .traits_of(Trait::foldable)
        .rule(infer_scatter),
    TERN_OP(49, nonzero, "x -> positions", "the positions of elements that are not zero, in row-major order")
        .attrs(kNonzero)
        .traits_of(Trait::data_sized)
        .rule(infer_nonzero),
    TERN_OP(129, masked_select, "x, mask -> y", "the elements of x where mask is true, in row-major order")
        .attrs(kMaskedSelect)
        .traits_of(Trait::data_sized)
        .rule(infer_masked_select),
    TERN_OP(50, unique, "x -> values!, inverse, counts", "the different elements or slices of x, in ascending order")
        .attrs(kUnique)
        .traits_of(Trait::data_sized)
        .rule(infer_unique),
    TERN_OP(51, bincount, "x, weights? -> y", "how often 0, 1, ... occur in x, or the sum of their weights")
        .attrs(kBincount)
        .traits_of(Trait::data_sized)
        .rule(infer_bincount),
    TERN_OP(52, embedding_bag, "weight, indices, offsets, per_sample_weights? -> y, bag_of, bag_size, max_indices",
            "the rows of each bag joined")
        .attrs(kEmbeddingBag)
        .rule(infer_embedding_bag),
    TERN_OP(53, repeat_interleave, "x, repeats -> y", "slice i repeated repeats[i] times")
        .attrs(kRepeatInterleave)
        .traits_of(Trait::data_sized)
        .rule(infer_repeat_interleave),
};

}  // namespace

std::span<const OpRecord> indexing_ops() {
  return kIndexingOps;
}

}  // namespace tern::ops
