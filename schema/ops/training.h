// Optimizer steps, and communication between processes.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr AttrRecord kOptim[] = {
    need(AttrKey::kind, kOptimNames, "the optimizer"),
    need(AttrKey::hyper, AttrType::numbers, "lr, two of the kind's own, weight_decay, eps").exactly(5),
    with(AttrKey::mode, AttrType::integer, 0, "sgd: 1 nesterov, 2 first step, 3 both").within(0, 3),
    flag(AttrKey::maximize, "ascends"),
};
inline constexpr AttrRecord kCollective[] = {
    need(AttrKey::kind, kCollectiveNames, "what the ranks do"),
    may(AttrKey::text, AttrType::text, "no reduction", "a reduction, by its name in tern/collective.h"),
    may(AttrKey::name, AttrType::text, "the default group", "of the group"),
    with(AttrKey::groups, AttrType::integer, 0, "how many ranks; 0: all of the group").within(0, 1 << 20),
    with(AttrKey::k, AttrType::integer, 0, "broadcast: the rank whose x all get").within(0, 1 << 20),
};

inline constexpr OpRecord kTraining[] = {
    record(Op::optim, "p, g, m?, v?, vmax?, step?, lr?, grad_scale?, found_inf? -> p, g?, m?, v?, vmax?",
           "one step of an optimizer, as PyTorch's fused kernels do it")
        .attrs(kOptim),
    record(Op::collective, "x -> y", "all_reduce and the like among the ranks of a group")
        .attrs(kCollective)
        .traits_of(Trait::effect),
};

}  // namespace tern::ops
