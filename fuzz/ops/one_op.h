// An archive with a program of one op, made from a fuzzer's bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fuzz/run/choices.h"
#include "fuzz/run/tame.h"
#include "schema/program.h"

namespace tern::fuzz {

/// Empty where the shape rule of the op refuses what was made.
std::vector<std::byte> one_op(Op op, Choices& c);

/// The program, where nothing of it is wild, and what its inputs may hold; nothing where the rule refuses it all the
/// same.
struct TameOp {
  Program program;
  Special special;
};
std::optional<TameOp> tame_op(Op op, Choices& c);

/// Ops that have a line in TERN_OPS, in its order.
const std::vector<Op>& all_ops();

}  // namespace tern::fuzz
