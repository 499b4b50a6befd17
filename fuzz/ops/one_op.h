// An archive with a program of a single op, made from a fuzzer's bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fuzz/run/choices.h"
#include "fuzz/run/tame.h"
#include "schema/program.h"

namespace tern::fuzz {

/// Empty if the op's shape rule refuses the node.
std::vector<std::byte> one_op(Op op, Choices& c);

/// A tame program, and the special values allowed in its inputs; nullopt if the rule refuses.
struct TameOp {
  Program program;
  SpecialData special;
};
std::optional<TameOp> tame_op(Op op, Choices& c);

/// Ops with a line in TERN_OPS, in its order.
const std::vector<Op>& all_ops();

}  // namespace tern::fuzz
