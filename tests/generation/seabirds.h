// The model of examples/generate as an archive in memory.
#pragma once

#include <tern/tern.h>

#include <memory>
#include <string>
#include <utility>

#include "exporter/importer.h"
#include "exporter/llm/add_generation.h"

namespace tern::testing {

/// The end token of these tests: the model writes sentences without end.
inline constexpr std::int64_t kFullStop = 146;

inline const std::string kExample = TERN_SOURCE_DIR "/examples/generate/";

/// `slots` 0: an archive without slots.
inline Model seabirds(std::int64_t slots) {
  GenerationOptions options{.bos = 1, .eos = {kFullStop}, .batch = slots};
  Program program = import_pt2(kExample + "seabirds.pt2");
  add_generation(program, options);
  return Model(std::make_shared<Program>(std::move(program)));
}

}  // namespace tern::testing
