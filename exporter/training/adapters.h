// Low-rank adapters (Hu et al., 2021, https://arxiv.org/abs/2106.09685): the weight W [out, in] of a linear layer stays
// fixed; with trained A [rank, in] and B [out, rank], the layer computes
//   x W^T + scale (x A^T) B^T.
// Layers x W with W [in, out] (GPT-2's Conv1D, PEFT's fan_in_fan_out) get the same A and B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/training/options.h"
#include "exporter/training/parameters.h"
#include "schema/program.h"

namespace tern {

/// Reads "PATTERN[:rank=R,alpha=A]"; rank is 8 unless given, alpha is the rank. Fails (invalid_argument) on others.
LoraRule parse_lora(const std::string& text);

struct AddedAdapters {
  std::vector<TrainedParameter> parameters;  ///< two for each weight, in the order of the weights
  /// Names of weights of two or more axes matched by a rule, without an adapter.
  std::vector<std::string> left_out;
  std::vector<std::string> tied_weights;  ///< names of matched weights that several modules or names share
};

/// Adds the states NAME.lora_A.weight and NAME.lora_B.weight to every linear weight NAME.weight (or NAME) matched by a
/// rule, and adds their products to the layer's results in all functions with the layer. Notes rank and alpha as
/// metadata. The first matching rule counts. A linear weight is a matrix read only as the second operand of products,
/// either always transposed or always as stored, under a single name by a single module (no tied weights).
///
/// A starts as torch.nn.init.kaiming_uniform_(A, a=sqrt(5)) fills it after torch.manual_seed(seed), in the order of the
/// weights: uniform within 1 / sqrt(in), with the numbers of PyTorch's CPU generator; 16-bit weights round the float32
/// numbers. B starts with zeros: at first the program computes the same results as without adapters.
///
/// Fails (invalid_argument) if a rule gives no weight an adapter.
AddedAdapters add_adapters(Program& program, const std::vector<LoraRule>& rules, std::uint64_t seed);

/// Adapter of a program, by state numbers.
struct Adapter {
  std::string module;  ///< NAME
  std::uint32_t weight = 0, a = 0, b = 0;
  std::int64_t rank = 0;
  double alpha = 0;
  bool fan_in_fan_out = false;  ///< the weight is [in, out], not [out, in]
  std::size_t input_axis() const { return fan_in_fan_out ? 0 : 1; }
  std::size_t output_axis() const { return fan_in_fan_out ? 1 : 0; }
  double scale() const { return alpha / static_cast<double>(rank); }
};
/// Adapters from add_adapters(), including those of an archive written since. Fails (bad_file) if metadata names absent
/// or unfitting states.
std::vector<Adapter> adapters_of(const Program& program);

/// Takes the adapters' products out of a function again.
void remove_adapters(Program& program, std::uint32_t function, const std::vector<Adapter>& adapters);

}  // namespace tern
