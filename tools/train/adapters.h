// What a session has trained of low-rank adapters: as a file of their own, and in the weights.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exporter/training/adapters.h"

namespace tern::train {

/// The matrices A and B by PEFT's names, "base_model.model.NAME.lora_A.weight", as safetensors; metadata `r` and
/// `lora_alpha` have rank and alpha as PEFT's configuration does, and `fan_in_fan_out` is "true" where a weight is
/// [in, out]. Where modules have different scales, each B is
/// multiplied by its own, and `lora_alpha` is `r` of the first. Model::with_lora reads the file with the scale
/// lora_alpha / r. Fails (invalid_argument) where the model has no adapters.
void write_adapters(const Model& model, const Session& session, const std::string& path);

/// W + scale B A, summed in float64 and rounded once: new bytes of the weights' storages.
void merge_adapters(const Program& program, const Session& session, const std::vector<Adapter>& adapters,
                    std::map<std::uint32_t, std::vector<std::byte>>& changed);

}  // namespace tern::train
