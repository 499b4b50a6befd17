// Control flow, the host, and operators of other libraries.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/program.h"

namespace tern::ops {

inline constexpr std::int64_t kMaxOperands = 1 << 20;
inline constexpr Attribute kCarried =
    need(AttrKey::carried, AttrType::integer, "operands that each round replaces").within(0, kMaxOperands);
inline constexpr Attribute kMapped =
    need(AttrKey::mapped, AttrType::integer, "operands of which each round takes a slice").within(0, kMaxOperands);
inline constexpr Attribute kMessage = may(AttrKey::text, AttrType::text, "no message", "of the error");

inline constexpr AttrRecord kCond[] = {
    may(AttrKey::symbols, AttrType::symbols, "the branches agree", "sizes of results in which the branches differ"),
};
inline constexpr AttrRecord kWhileLoop[] = {kCarried};
inline constexpr AttrRecord kScanLoop[] = {kCarried, kMapped};
inline constexpr AttrRecord kMapLoop[] = {kMapped};
inline constexpr AttrRecord kItem[] = {need(AttrKey::symbols, AttrType::symbols, "that takes the value").exactly(1)};
inline constexpr AttrRecord kAssertDim[] = {
    need(AttrKey::dim, AttrType::dim, "the condition: not 0"),
    kMessage,
};
inline constexpr AttrRecord kAssertTrue[] = {kMessage};
inline constexpr AttrRecord kCustom[] = {
    need(AttrKey::name, AttrType::text, "of the operator"),
    may(AttrKey::text, AttrType::text, "no arguments", "the arguments that are not tensors, and what they are"),
    may(AttrKey::value, AttrType::dims, "no integers", "integers among the arguments"),
    may(AttrKey::hyper, AttrType::numbers, "no numbers", "numbers among the arguments"),
    may(AttrKey::dtype, AttrType::integers, "no results", "of the results").within(1, kDTypeCount - 1),
    may(AttrKey::counts, AttrType::integers, "no results", "ranks of the results").within(0, kMaxRank),
    may(AttrKey::sizes, AttrType::dims, "no sizes", "of all results, in order"),
};

inline constexpr OpRecord kControl[] = {
    record(Op::cond, "predicate, operands* -> results*", "the first body if the predicate is true, else the second")
        .attrs(kCond)
        .runs(2)
        .traits_of(Trait::control, Trait::host, Trait::data_sized, Trait::may_be_unread),
    record(Op::while_loop, "operands+ -> carried*", "the second body as long as the first gives true")
        .attrs(kWhileLoop)
        .runs(2)
        .traits_of(Trait::control, Trait::host),
    record(Op::scan_loop, "operands+ -> results*", "the body for each slice, with values carried from one to the next")
        .attrs(kScanLoop)
        .runs(1)
        .traits_of(Trait::control, Trait::host),
    record(Op::map_loop, "operands+ -> results*", "the body for each slice, results stacked")
        .attrs(kMapLoop)
        .runs(1)
        .traits_of(Trait::control, Trait::host, Trait::may_be_unread),
    record(Op::call, "operands* -> results*", "the body")
        .runs(1)
        .traits_of(Trait::control, Trait::host, Trait::may_be_unread),
    record(Op::item, "x ->", "a symbol takes the value of x")
        .attrs(kItem)
        .traits_of(Trait::host, Trait::effect, Trait::data_sized),
    record(Op::assert_dim, "->", "fails if an expression over sizes is 0")
        .attrs(kAssertDim)
        .traits_of(Trait::host, Trait::effect),
    record(Op::assert_true, "x ->", "fails if x is false").attrs(kAssertTrue).traits_of(Trait::host, Trait::effect),
    record(Op::custom, "tensors* -> results*", "an operator of another library")
        .attrs(kCustom)
        .traits_of(Trait::effect, Trait::may_be_unread),
};

}  // namespace tern::ops
