// The tokenizer in a GGUF file's metadata, as the texts that Hugging Face's libraries and tern/text.h read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exporter/gguf/metadata.h"

namespace tern::gguf {

struct TokenizerTexts {
  std::string tokenizer;      ///< tokenizer.json; empty where `missing` says why
  std::string configuration;  ///< tokenizer_config.json
  std::string chat_template;  ///< chat_template.jinja; empty if the file has none
  std::string generation;     ///< generation_config.json
  std::string missing;        ///< reason for an absent tokenizer
  std::optional<std::int64_t> bos;
  bool adds_bos = false;  ///< every prompt begins with bos
  std::vector<std::int64_t> eos;
};

/// Throws bad_file for metadata that contradict each other. `vocabulary`: rows of the embedding.
TokenizerTexts tokenizer_texts(const Metadata& metadata, std::int64_t vocabulary);

}  // namespace tern::gguf
