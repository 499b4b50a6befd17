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

/// Moves batch norms with constant statistics, and pointwise functions of one operand, from behind a concatenation of
/// convolutions into its branches. The concatenation must have no other reader. Marks the norms' states in
/// `folded_states`.
void move_into_branches(Program& program, std::vector<bool>& folded_states);

/// Replaces batch norms with constant statistics by x * scale + shift: a scale and a shift for each channel, computed
/// in double. If the norm is the only reader of a convolution, folds both into the convolution's weight and bias. Marks
/// the norms' states in `folded_states`.
void fold_batch_norms(Program& program, std::vector<bool>& folded_states);

/// Evaluates constant attention masks: `most_work` bounds the bytes of work for one mask, `budget` for all. Removes
/// masks that hide nothing; a mask that hides all later keys becomes the attribute `causal`. Marks the masks' states in
/// `folded_states`.
void fold_attention_masks(Program& program, bool (*is_supported)(const Node&), std::uint64_t most_work,
                          std::uint64_t& budget, std::vector<bool>& folded_states);

/// Multiplies channel k of the convolution that makes the operand of node `norm` by by[k], adds plus[k], and removes
/// the node. False where that cannot be. The weight keeps its name and its place in the file; its bytes are made when
/// they are read. Adds the weight, and a bias that is not read any more, to `states`.
bool scale_convolution(Program& program, std::uint32_t function, std::size_t norm, const std::vector<double>& factor,
                       const std::vector<double>& offset, std::vector<std::uint32_t>& states);

/// Adds the numbers, converted to `t`, as a constant of these sizes (exporter/constants.h).
ValueId add_numbers(Builder& b, DType t, const std::vector<std::int64_t>& sizes, std::span<const double> numbers);

/// The input of the function that the value is, if that is a state; else null.
const FunctionInput* state_input(const Function& f, ValueId v);

/// The numbers of an immutable state of one dimension and a floating type.
std::optional<std::vector<double>> constant_numbers(const Program& program, std::uint32_t state);

}  // namespace tern
