// Sampling defaults of an archive: its generation_config.json.
#pragma once

#include <tern/text_engine.h>

#include <cstdint>

namespace tern {

/// Greedy without the file, or if the file does not say "do_sample": true, as in transformers. Throws bad_file for
/// other than a JSON object, or numbers out of range.
TextSampling read_generation_config(const Model& model, std::int64_t vocabulary);

}  // namespace tern
