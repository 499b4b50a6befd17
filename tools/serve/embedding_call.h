// POST /v1/embeddings: the request and its reply in OpenAI's form.
#pragma once

#include <tern/text_embedder.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::serve {

struct EmbeddingCall {
  std::string model;                             ///< empty: any
  std::vector<std::vector<std::int64_t>> texts;  ///< token ids
  std::size_t dimensions = 0;
  bool is_base64 = false;
};

/// Throws invalid_argument for a wrong request, and names the member.
EmbeddingCall read_embedding_call(std::string_view json, const TextEmbedder& embedder);

/// `vectors`: float32 [texts, dimensions of the embedder].
std::string embedding_reply(const EmbeddingCall& call, const std::string& model, const std::vector<float>& vectors);

}  // namespace tern::serve
