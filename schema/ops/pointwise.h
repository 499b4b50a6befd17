// Expressions over elements, and tensors made from nothing.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr AttrRecord kPointwise[] = {
    may(AttrKey::sizes, AttrType::dims, "those of the operands", "broadcast with the operands"),
};
inline constexpr AttrRecord kFull[] = {
    may(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
    need(AttrKey::value, AttrType::dims_or_numbers, "an integer, a number, or a real and an imaginary part"),
    need(AttrKey::dtype, AttrType::dtype, "of the result"),
};
inline constexpr AttrRecord kIota[] = {
    need(AttrKey::sizes, AttrType::dims, "of the result").exactly(1),
    need(AttrKey::value, AttrType::dims_or_numbers, "start and step").exactly(2),
    need(AttrKey::dtype, AttrType::dtype, "of the result"),
};
inline constexpr AttrRecord kFromDim[] = {
    need(AttrKey::dim, AttrType::dim, "the value"),
    need(AttrKey::dtype, AttrType::dtype, "of the result"),
};
inline constexpr AttrRecord kRandom[] = {
    need(AttrKey::kind, AttrType::text, "the distribution").one_of(kRandomNames),
    may(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
    need(AttrKey::dtype, AttrType::dtype, "of the result"),
    may(AttrKey::range, AttrType::dims, "not randint", "randint: the least number, and the first one above").exactly(2),
};

inline constexpr OpRecord kPointwiseOps[] = {
    record(Op::pointwise, "xs* -> y", "an expression at every position of the broadcast of all operands")
        .attrs(kPointwise)
        .traits_of(Trait::plain, Trait::foldable)
        .costs(pointwise_operations),
    record(Op::full, "-> y", "every element is one value").attrs(kFull).traits_of(Trait::plain, Trait::foldable),
    record(Op::iota, "-> y", "element i is start + i * step").attrs(kIota).traits_of(Trait::plain, Trait::foldable),
    record(Op::from_dim, "-> y", "the value of a size, as a tensor of no dimensions")
        .attrs(kFromDim)
        .traits_of(Trait::foldable),
    record(Op::random, "a?, b? -> y", "new numbers at every run, by the session's generator")
        .attrs(kRandom)
        .traits_of(Trait::effect, Trait::random),
};

}  // namespace tern::ops
