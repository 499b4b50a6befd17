// Builds the program of a decoder from a GGUF file: one function over tokens and their position, with a static cache.
#pragma once

#include <cstdint>

#include "exporter/gguf/decoder_config.h"
#include "schema/program.h"

namespace tern::gguf {

/// The function "forward" in the form that exporter/llm/add_generation.h takes. Weights keep the file's bits; the
/// program maps the file. Throws bad_file for missing tensors and wrong shapes, unsupported for tensors that the
/// architecture does not have.
Program decoder_program(const File& file, const DecoderConfig& config);

}  // namespace tern::gguf
