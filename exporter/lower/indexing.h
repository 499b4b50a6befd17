// Helpers and tables for reads and writes at positions held in tensors.
#pragma once

#include <span>

#include "exporter/lower/reduction.h"

namespace tern {

std::span<const Lowering> advanced_index_lowerings();  ///< index.Tensor, index_put, index_add, index_copy ...
std::span<const Lowering> scatter_index_lowerings();   ///< gather, scatter, take, put ...
std::span<const Lowering> masked_lowerings();          ///< masked_select, nonzero, isin, one_hot ...
std::span<const Lowering> embedding_lowerings();       ///< embedding, embedding_bag, repeat_interleave
std::span<const Lowering> sparse_lowerings();          ///< to_sparse, sparse_coo_tensor, _jagged_to_padded_dense ...

/// An index as int64 (int32 stays).
ValueId as_index(Builder& b, ValueId index);
/// Combines elements of x with those of `source` that have their position along `axis` in `index`.
ValueId scatter_elements(Builder& b, ValueId x, std::int64_t axis, ValueId index, ValueId source, ScatterKind kind,
                         bool include_self);
/// Replaces, or increases if `accumulate`, the slices of x along `axis` at the positions `index` by the slices of
/// `source`. `source` broadcasts to x.shape[:axis] + index.shape + x.shape[axis+1:]. Negative positions count from the
/// end.
ValueId put_along(Builder& b, ValueId x, std::int64_t axis, ValueId index, ValueId source, bool accumulate);

}  // namespace tern
