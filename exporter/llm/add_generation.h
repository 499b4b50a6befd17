// Turns a decoder's program into a token generator: functions prefill and decode, both with sampling, and verify.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "schema/program.h"

namespace tern {

struct GenerationOptions {
  std::int64_t context = 0;         ///< positions of the cache; 0: derived from the program's buffers
  std::optional<std::int64_t> bos;  ///< first token of a text
  std::vector<std::int64_t> eos;    ///< end tokens
  std::int64_t batch = 0;           ///< slots for jointly decoded texts, from 2; 0: one text, without slots
};

struct GenerationReport {
  std::int64_t context = 0, vocabulary = 0;
  std::int64_t verify = 0;    ///< most tokens of verify; 0: the program gives logits of the last token alone
  std::size_t attention = 0;  ///< nodes of decode limited to the filled part of the cache
};

/// Replaces the program's only function, or its functions prefill and decode, by the functions of generation/names.h
/// with the same weights and cache, and writes the generation loop's settings into the metadata. Throws
/// invalid_argument, with advice, unless the program is a decoder with a static cache.
GenerationReport add_generation(Program& program, const GenerationOptions& options);

}  // namespace tern
