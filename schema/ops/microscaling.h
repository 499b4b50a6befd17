// MX values: elements and scales become one value, and numbers again.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr Attribute kBlock =
    need(AttrKey::block, AttrType::integer, "elements that share a scale").within(1, 1 << 20);
inline constexpr Attribute kLayout = with(AttrKey::layout, kLayoutNames, 0, "order of the scales");

inline constexpr AttrRecord kMxPack[] = {
    kBlock,
    kLayout,
    may(AttrKey::dtype, AttrType::dtype, "the dtype of the elements", "of elements that come as uint8"),
};
inline constexpr AttrRecord kMxDequantize[] = {need(AttrKey::dtype, AttrType::dtype, "of the result"), kBlock, kLayout};

inline constexpr OpRecord kMicroscaling[] = {
    record(Op::mx_pack, "elements, scales -> x", "an MX value; moves bytes only").attrs(kMxPack),
    record(Op::mx_dequantize, "x -> y", "element * scale").attrs(kMxDequantize).traits_of(Trait::plain),
};

}  // namespace tern::ops
