// Turns texts into vectors by an encoder: an archive of `tern export --embeddings`.
//
//   tern::TextEmbedder embedder(tern::Model::open("encoder.tern"));
//   std::vector<float> vectors = embedder.embed({embedder.encode("Where do terns nest?")});
//
// Library: tern::text, as tern/text.h.
// Errors: every function throws tern::Error.
// Threads: any thread may call. Texts of concurrent calls share runs.
#pragma once

#include <tern/tern.h>
#include <tern/text.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace tern {

struct TextEmbedderOptions {
  PrepareOptions prepare;              ///< device, threads and precision
  std::int64_t run_tokens = 4096;      ///< limit of tokens in a run, with padding; a longer text runs alone
  std::optional<Tokenizer> tokenizer;  ///< instead of the archive's
};

/// Counts since the embedder began.
struct TextEmbedderStats {
  std::uint64_t texts = 0, tokens = 0;  ///< finished calls alone
  std::uint64_t runs = 0;
  double run_seconds = 0;
};

class TERN_API TextEmbedder {
 public:
  /// Throws invalid_argument unless `tern export --embeddings` made the archive.
  explicit TextEmbedder(const Model& model, const TextEmbedderOptions& options = {});
  ~TextEmbedder();
  TextEmbedder(const TextEmbedder&) = delete;
  TextEmbedder& operator=(const TextEmbedder&) = delete;

  /// Vectors of texts given as token ids, 1 to context() of each text: float32 [texts, dimensions()], one after the
  /// other. Waits for runs of other calls. `goes_on` is asked between runs, at least every 0.1 s while the call waits;
  /// false ends the call. Throws invalid_argument for a text too short or too long, Cancelled after false.
  std::vector<float> embed(const std::vector<std::vector<std::int64_t>>& texts,
                           const std::function<bool()>& goes_on = {});
  /// Ids of a text, with the tokens that the tokenizer's own rule adds. Throws invalid_argument without tokenizer.
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// Shortens ids of encode() to context(), and keeps the tokens that the tokenizer's rule adds at the end.
  std::vector<std::int64_t> cut(std::vector<std::int64_t> tokens) const;
  TextEmbedderStats stats() const;

  std::int64_t dimensions() const;
  std::int64_t context() const;  ///< limit of a text's tokens
  bool cuts() const;             ///< true if the first numbers of a vector are an embedding, too
  /// Null without a tokenizer.
  const Tokenizer* tokenizer() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// True for an archive of `tern export --embeddings`.
TERN_API bool embeds_texts(const Model& model);

/// Keeps the first numbers of a vector, and gives it the length 1.
TERN_API std::vector<float> shortened_embedding(std::vector<float> vector, std::size_t dimensions);

}  // namespace tern
