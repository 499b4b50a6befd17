// Views, and what moves elements along axes.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr AttrRecord kReshape[] = {
    may(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
};
inline constexpr AttrRecord kPermute[] = {
    may(AttrKey::axes, AttrType::axes, "no axes", "axis i of the result is axis axes[i] of x"),
};
inline constexpr std::int64_t kAnyStep = std::numeric_limits<std::int64_t>::max() - 1;
inline constexpr AttrRecord kSlice[] = {
    need(AttrKey::axis, AttrType::axis, "along which"),
    need(AttrKey::start, AttrType::dim, "the first element"),
    need(AttrKey::length, AttrType::dim, "how many elements"),
    with(AttrKey::step, AttrType::integer, 1, "from one element to the next; not 0").within(-kAnyStep, kAnyStep),
};
inline constexpr AttrRecord kExpand[] = {
    may(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
};
inline constexpr AttrRecord kAsStrided[] = {
    may(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
    may(AttrKey::strides, AttrType::dims, "no axes", "in elements").at_least(0),
    with(AttrKey::offset, AttrType::dim, 0, "the first element").at_least(0),
};
inline constexpr AttrRecord kBitcast[] = {
    need(AttrKey::dtype, AttrType::dtype, "of the result"),
    flag(AttrKey::k, "complex elements are two real ones, along an axis of their own"),
};
inline constexpr AttrRecord kSliceScatter[] = {
    need(AttrKey::axis, AttrType::axis, "along which"),
    with(AttrKey::start, AttrType::dim, 0, "the first element replaced"),
    with(AttrKey::step, AttrType::integer, 1, "from one element to the next; not 0").within(-kAnyStep, kAnyStep),
};
inline constexpr AttrRecord kAsStridedScatter[] = {
    may(AttrKey::strides, AttrType::dims, "no axes", "in elements").at_least(0),
    with(AttrKey::offset, AttrType::dim, 0, "the first element").at_least(0),
};
inline constexpr AttrRecord kConcat[] = {
    need(AttrKey::axis, AttrType::axis, "along which"),
};
inline constexpr AttrRecord kPad[] = {
    need(AttrKey::before, AttrType::dims, "elements added in front of each axis; negative numbers crop"),
    need(AttrKey::after, AttrType::dims, "elements added behind each axis"),
    with(AttrKey::mode, kPadNames, 0, "what is added"),
    with_number(AttrKey::value, 0, "mode constant: a number, or a real and an imaginary part", AttrType::numbers),
};

inline constexpr OpRecord kMovement[] = {
    record(Op::reshape, "x -> y", "the same elements in row-major order under other sizes")
        .attrs(kReshape)
        .traits_of(Trait::view, Trait::plain, Trait::foldable),
    record(Op::permute, "x -> y", "the axes in another order")
        .attrs(kPermute)
        .traits_of(Trait::view, Trait::plain, Trait::foldable),
    record(Op::slice, "x -> y", "elements start, start + step, ... of an axis")
        .attrs(kSlice)
        .traits_of(Trait::view, Trait::plain, Trait::foldable),
    record(Op::expand, "x -> y", "NumPy's broadcast_to; new axes come first")
        .attrs(kExpand)
        .traits_of(Trait::view, Trait::plain, Trait::foldable),
    record(Op::as_strided, "x -> y", "a view of x, taken as a run of elements in row-major order")
        .attrs(kAsStrided)
        .traits_of(Trait::view, Trait::plain, Trait::foldable),
    record(Op::bitcast, "x -> y", "the same bytes as elements of another dtype; the last axis grows or shrinks")
        .attrs(kBitcast)
        .traits_of(Trait::view, Trait::plain, Trait::foldable),
    record(Op::slice_scatter, "x, src -> y", "x with the elements that slice would give replaced by src")
        .attrs(kSliceScatter)
        .traits_of(Trait::foldable),
    record(Op::as_strided_scatter, "x, src -> y", "x with the elements that as_strided would give replaced by src")
        .attrs(kAsStridedScatter),
    record(Op::concat, "xs+ -> y", "one after the other along an axis")
        .attrs(kConcat)
        .traits_of(Trait::plain, Trait::foldable),
    record(Op::pad, "x -> y", "elements added around each axis, or cropped")
        .attrs(kPad)
        .traits_of(Trait::plain, Trait::foldable),
};

}  // namespace tern::ops
