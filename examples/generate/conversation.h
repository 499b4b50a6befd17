// A text continued by a model: a session with its key/value cache, for an archive of `tern export --llm`.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The model's properties stored in the archive.
struct ModelFacts {
  std::int64_t context = 0;         ///< positions of the cache: tokens of prompt and answer together
  std::int64_t vocabulary = 0;      ///< token ids are 0 to vocabulary - 1
  std::optional<std::int64_t> bos;  ///< the token beginning a text
  std::vector<std::int64_t> eos;    ///< tokens ending a text
  std::int64_t batch = 0;           ///< slots for texts: see slots.h; 0: a session has a single text

  bool is_end_token(std::int64_t token) const;
};

/// Throws tern::Error if `tern export --llm` did not make the archive.
ModelFacts facts_of(const tern::Model& model);

struct Sampling {
  float temperature = 0;   ///< 0: always the most likely token
  std::int64_t top_k = 0;  ///< draw from this number of the most likely tokens; 0: from all
  float top_p = 1;         ///< draw from the fewest tokens with probabilities adding up to this
  std::uint64_t seed = 0;  ///< seed of the session's generator
};

/// A conversation of an archive without slots. Belongs to one thread at a time. Any number of conversations share a
/// tern::PreparedModel.
class Conversation {
 public:
  Conversation(const tern::PreparedModel& prepared, const ModelFacts& facts, const Sampling& sampling);

  /// Reads tokens after the earlier tokens and returns the next token (not read yet). Throws tern::Error if the cache
  /// is full, or a token id is unknown.
  std::int64_t read(std::span<const std::int64_t> tokens);
  /// float32[vocabulary], of the last read(). Valid until the next read().
  std::span<const float> logits() const { return session_.output("logits").span<const float>(); }
  /// Number of tokens read() can still take.
  std::int64_t room() const { return facts_.context - position_; }
  /// Drops all tokens from `position` on, to answer the same beginning again.
  void rewind(std::int64_t position) { position_ = position; }
  std::int64_t position() const { return position_; }

 private:
  tern::Session session_;
  ModelFacts facts_;
  Sampling sampling_;
  std::int64_t position_ = 0;
};
