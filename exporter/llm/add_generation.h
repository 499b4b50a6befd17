// Makes a decoder's program one that generates tokens: the functions prefill and decode, with sampling in both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "schema/program.h"

namespace tern {

struct GenerationOptions {
  std::int64_t context = 0;         ///< positions of the cache; 0: as the program's buffers tell
  std::optional<std::int64_t> bos;  ///< the token that begins a text
  std::vector<std::int64_t> eos;    ///< tokens that end it
  std::int64_t batch = 0;           ///< slots for texts that are decoded together, from 2; 0: one text, without slots
};

struct GenerationReport {
  std::int64_t context = 0, vocabulary = 0;
  std::size_t attention = 0;  ///< nodes of decode that read the filled part of the cache alone
};

/// Replaces the program's only function, or its functions prefill and decode, by those of exporter/llm/names.h, which
/// share the weights and the cache, and notes what a generation loop must know in the metadata. Throws
/// invalid_argument, with advice, if the program is no decoder with a static cache.
GenerationReport add_generation(Program& program, const GenerationOptions& options);

}  // namespace tern
