// Low-rank adapters: the weight W [out, in] of a linear layer stays, and the layer gives x W^T + scale (x A^T) B^T with
// trained A [rank, in] and B [out, rank] (Hu et al., 2021, https://arxiv.org/abs/2106.09685). Layers x W with W [in,
// out] (GPT-2's Conv1D; PEFT calls them fan_in_fan_out) get the same A and B.
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
  /// Names of weights of two or more axes that a rule matches, but that get no adapter.
  std::vector<std::string> left_out;
};

/// Gives every linear weight whose name matches a rule the states NAME.lora_A.weight and NAME.lora_B.weight, where the
/// weight is NAME.weight or NAME, and adds their products to the layer's results in all functions that read it; notes
/// rank and alpha as metadata. The first rule that matches counts. A linear weight is a matrix that products read as
/// their second operand, all transposed or all as it is, and nothing else reads, under this name or another (tied
/// weights).
///
/// A begins as torch.nn.init.kaiming_uniform_(A, a=sqrt(5)) fills it, in that order after torch.manual_seed(seed):
/// uniform within 1 / sqrt(in), with the numbers of PyTorch's CPU generator; 16-bit weights have those of float32,
/// rounded. B begins with zeros, so the program computes at first what it did without adapters.
///
/// Fails (invalid_argument) where a rule gives no weight an adapter.
AddedAdapters add_adapters(Program& program, const std::vector<LoraRule>& rules, std::uint64_t seed);

/// An adapter of a program, by numbers of its states.
struct Adapter {
  std::string module;  ///< NAME
  std::uint32_t weight = 0, a = 0, b = 0;
  std::int64_t rank = 0;
  double alpha = 0;
  bool fan_in_fan_out = false;  ///< the weight is [in, out], not [out, in]
  std::size_t in_axis() const { return fan_in_fan_out ? 0 : 1; }
  std::size_t out_axis() const { return fan_in_fan_out ? 1 : 0; }
  double scale() const { return alpha / static_cast<double>(rank); }
};
/// Those that add_adapters() made, also of an archive that was written since. Fails (bad_file) where metadata names
/// states that are not there or do not fit.
std::vector<Adapter> adapters_of(const Program& program);

/// Takes the adapters' products out of a function again.
void remove_adapters(Program& program, std::uint32_t function, const std::vector<Adapter>& adapters);

}  // namespace tern
