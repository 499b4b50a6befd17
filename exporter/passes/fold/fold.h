// Parts of constant folding.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern {

class Builder;

/// Bytes of a constant, or of all constants of one large state, by which folding may enlarge a program.
inline constexpr std::uint64_t kSmallConstant = std::uint64_t{64} << 10;

/// Batch norms with constant statistics and functions of single elements, which follow a concatenation of convolutions
/// that nothing else reads, move before it. The states that the norms read are marked in `read`.
void move_into_branches(Program& program, std::vector<bool>& read);

/// A batch norm with constant statistics becomes x * scale + shift: one number of each for a channel, computed in
/// double. Where x is the result of a convolution that nothing else reads, its weight and bias take them over. The
/// states that it read are marked in `read`.
void fold_batch_norms(Program& program, std::vector<bool>& read);

/// Masks of attention made of constants, with at most so many bytes of work each, and of `budget` in all: one that
/// hides nothing goes, one that hides from each query the keys behind it becomes `causal`. States that are read no more
/// are marked in `read`.
void fold_attention_masks(Program& program, bool (*takes)(const Node&), std::uint64_t most_work, std::uint64_t& budget,
                          std::vector<bool>& read);

/// Multiplies channel k of the convolution that makes the operand of node `norm` by by[k], adds plus[k], and removes
/// the node. False where that cannot be. The weight keeps its name and its place in the file; its bytes are made when
/// they are read. Adds the weight, and a bias that is not read any more, to `states`.
bool scale_convolution(Program& program, std::uint32_t function, std::size_t norm, const std::vector<double>& factor,
                       const std::vector<double>& plus, std::vector<std::uint32_t>& states);

/// Adds the numbers, converted to `t`, as a constant of these sizes (exporter/constants.h).
ValueId add_numbers(Builder& b, DType t, const std::vector<std::int64_t>& sizes, std::span<const double> numbers);

/// The input of the function that the value is, if that is a state; else null.
const FunctionInput* state_input(const Function& f, ValueId v);

/// The numbers of an immutable state of one dimension and a floating type.
std::optional<std::vector<double>> constant_numbers(const Program& program, std::uint32_t state);

}  // namespace tern
