// Turns an encoder's program into the function embed of generation/names.h.
#pragma once

#include <cstdint>

#include "schema/program.h"

namespace tern {

struct EmbeddingOptions {
  std::int64_t context = 0;  ///< most tokens of a text; 0: the program's limit
  bool cuts = false;         ///< true if the first numbers of a vector are an embedding, too
};

struct EmbeddingReport {
  std::int64_t context = 0, dimensions = 0;
};

/// Names the program's only function, its inputs and its result, checks lengths at the begin of each run, and writes
/// the metadata. Throws invalid_argument, with advice, unless the function takes tokens int64[t, n] and lengths
/// int64[t], with dynamic sizes, and gives floats [t, dimensions].
EmbeddingReport add_embedding(Program& program, const EmbeddingOptions& options);

}  // namespace tern
