// Writes a session's trained low-rank adapters to a file of their own, or merges them into the weights.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exporter/training/adapters.h"

namespace tern::train {

/// Writes the matrices A and B by PEFT's names, "base_model.model.NAME.lora_A.weight", as safetensors; metadata `r` and
/// `lora_alpha` have rank and alpha of PEFT's configuration, and `fan_in_fan_out` is "true" if a weight is [in, out].
/// For modules with different scales, each B is multiplied by its own scale, and `lora_alpha` is `r` of the first.
/// Averages of the matrices (--ema) take their place. Model::with_lora reads the file with the scale lora_alpha / r.
/// Fails (invalid_argument) for a model without adapters.
void write_adapters(const Model& model, const Session& session, const std::string& path);

/// W + scale B A, or averages of B and A, summed in float64 and rounded once: new bytes of the weights' storages.
void merge_adapters(const Program& program, const Session& session, const std::vector<Adapter>& adapters,
                    std::map<std::uint32_t, std::vector<std::byte>>& changed_storages);

}  // namespace tern::train
