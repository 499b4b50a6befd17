// Options of the commands that generate text: the model's device, and the choice of tokens.
#pragma once

#include <tern/text_embedder.h>
#include <tern/text_engine.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/command.h"

namespace tern {

struct EngineArguments {
  std::string model, tokenizer, chat_template, draft;
  DeviceChoice device;
  int threads = 0;
  bool speculate = false;
};

/// Values of the options given; the others are the archive's.
struct SamplingArguments {
  std::optional<double> temperature, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> logit_bias, stop;
  std::string json_schema, grammar;  ///< files
  std::int64_t max_tokens = 0;
};

void add_engine_options(Command command, EngineArguments& arguments);
/// --chat-template, for commands with messages.
void add_chat_options(Command command, EngineArguments& arguments);
void add_sampling_options(Command command, SamplingArguments& arguments);

/// `options` has further settings of the engine.
std::unique_ptr<TextEngine> make_engine(const Model& model, const EngineArguments& arguments,
                                        TextEngineOptions options = {});
/// `has_tokenizer_option`: true if --tokenizer is this model's.
std::unique_ptr<TextEmbedder> make_embedder(const Model& model, const EngineArguments& arguments,
                                            bool has_tokenizer_option);
/// The option's template, else the archive's; empty without both.
std::optional<ChatTemplate> find_chat_template(const Model& model, const EngineArguments& arguments);
/// A request without prompt: sampling, limits, stop texts, and schema or grammar of the options.
TextRequest make_request(const TextEngine& engine, const SamplingArguments& arguments);
/// Ids of a prompt that a chat template made. The template writes the special tokens.
std::vector<std::int64_t> encode_chat(const TextEngine& engine, const std::string& prompt);

}  // namespace tern
