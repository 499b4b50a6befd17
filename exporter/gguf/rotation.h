// Frequencies of rotary position embeddings, with the scalings that GGUF's metadata and tensors describe.
#pragma once

#include "exporter/gguf/decoder_config.h"

namespace tern::gguf {

/// Fills in the rotations of a configuration whose other fields are complete.
void read_rotations(const File& file, const Metadata& metadata, DecoderConfig& config);

/// 1 / sqrt(x).
double inverse_root(double x);

}  // namespace tern::gguf
