// What moves elements by positions held in tensors, and what has a size that only the data determine.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr Attribute kIndexedAxis = need(AttrKey::axis, AttrType::axis, "that is indexed");
inline constexpr Attribute kCount = need(AttrKey::symbols, AttrType::symbols, "how many there are").exactly(1);

inline constexpr AttrRecord kGather[] = {kIndexedAxis};
inline constexpr AttrRecord kIndexSelect[] = {kIndexedAxis};
inline constexpr AttrRecord kIndexPut[] = {flag(AttrKey::accumulate, "adds the values to x, instead of replacing it")};
inline constexpr AttrRecord kScatter[] = {
    kIndexedAxis,
    need(AttrKey::kind, kScatterNames, "how elements of src are joined"),
    with(AttrKey::include_self, AttrType::boolean, 1, "elements of x take part at the places written"),
};
inline constexpr AttrRecord kNonzero[] = {kCount};
inline constexpr AttrRecord kMaskedSelect[] = {kCount};
inline constexpr AttrRecord kUnique[] = {
    may(AttrKey::axis, AttrType::axis, "elements of the flattened x", "whose slices are compared"),
    flag(AttrKey::consecutive, "runs of equals, in the order of x"),
    kCount,
};
inline constexpr AttrRecord kBincount[] = {
    with(AttrKey::length, AttrType::dim, 0, "the least size of the result").at_least(0),
    kCount,
};
inline constexpr AttrRecord kEmbeddingBag[] = {
    need(AttrKey::kind, kBagNames, "how rows are joined"),
    flag(AttrKey::full, "the last offset only ends the last bag"),
    with(AttrKey::padding_index, AttrType::integer, -1, "a row that is left out; -1: none").within(-1, kHuge),
};
inline constexpr AttrRecord kRepeatInterleave[] = {need(AttrKey::axis, AttrType::axis, "along which"), kCount};

inline constexpr OpRecord kIndexing[] = {
    record(Op::gather, "x, index -> y", "y[i][j] = x[index[i][j]][j] for axis 0, and so on")
        .attrs(kGather)
        .traits_of(Trait::plain, Trait::foldable, Trait::reads_part),
    record(Op::index_select, "x, index -> y", "slices of x at the positions of index")
        .attrs(kIndexSelect)
        .traits_of(Trait::plain, Trait::foldable, Trait::reads_part),
    record(Op::index, "x, indices+ -> y", "x[indices...]; negative positions count from the end")
        .traits_of(Trait::plain, Trait::foldable),
    record(Op::index_put, "x, values, indices+ -> y",
           "x with x[indices...] replaced by the values, or increased by them")
        .attrs(kIndexPut),
    record(Op::scatter, "x, index, src -> y", "x with src[i][j] joined to place [index[i][j]][j] for axis 0, and so on")
        .attrs(kScatter)
        .traits_of(Trait::foldable),
    record(Op::nonzero, "x -> positions", "the positions of elements that are not zero, in row-major order")
        .attrs(kNonzero)
        .traits_of(Trait::data_sized),
    record(Op::masked_select, "x, mask -> y", "the elements of x where mask is true, in row-major order")
        .attrs(kMaskedSelect)
        .traits_of(Trait::data_sized),
    record(Op::unique, "x -> values!, inverse, counts", "the different elements or slices of x, in ascending order")
        .attrs(kUnique)
        .traits_of(Trait::data_sized),
    record(Op::bincount, "x, weights? -> y", "how often 0, 1, ... occur in x, or the sum of their weights")
        .attrs(kBincount)
        .traits_of(Trait::data_sized),
    record(Op::embedding_bag, "weight, indices, offsets, per_sample_weights? -> y, bag_of, bag_size, max_indices",
           "the rows of each bag joined")
        .attrs(kEmbeddingBag),
    record(Op::repeat_interleave, "x, repeats -> y", "slice i repeated repeats[i] times")
        .attrs(kRepeatInterleave)
        .traits_of(Trait::data_sized),
};

}  // namespace tern::ops
