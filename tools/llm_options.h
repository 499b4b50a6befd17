// The options of `tern export` for archives generating tokens or embedding texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exporter/llm/add_embedding.h"
#include "exporter/llm/add_generation.h"
#include "tools/options.h"

namespace tern {

struct LlmArguments {
  bool llm = false, embeddings = false, matryoshka = false;
  std::optional<std::int64_t> context, bos, batch;
  std::vector<std::int64_t> eos;
  std::string configuration;
};

/// Adds --llm and its dependent options.
void add_llm_options(Command command, LlmArguments& arguments);
/// Empty without --llm. Fails (invalid_argument) for a dependent option without --llm, or an invalid file of token ids.
std::optional<GenerationOptions> parse_llm(const LlmArguments& arguments);
/// Empty without --embeddings.
std::optional<EmbeddingOptions> parse_embeddings(const LlmArguments& arguments);

/// "generates tokens: prefill and decode, 2048 positions, ..." for people.
std::string generation_text(const GenerationOptions& options, const GenerationReport& report);
/// "embeds texts of at most 256 tokens ..." for people.
std::string embedding_text(const EmbeddingReport& report);

}  // namespace tern
