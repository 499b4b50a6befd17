// Names of functions, inputs, results and metadata of archives that generate tokens or embed texts: written by the
// exporter, read by generation/. docs/generate.md and docs/embeddings.md explain them.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern::llm {

// Functions. All update the key/value cache.
inline constexpr std::string_view kPrefill = "prefill";  ///< tokens int64[1, n]
inline constexpr std::string_view kDecode = "decode";    ///< tokens int64[1, 1]
/// Reads proposed tokens, int64[1, n], and gives the results behind each. May lack: Facts::verify.
inline constexpr std::string_view kVerify = "verify";

// Inputs of prefill and decode, in this order. verify has tokens, slot and position alone. With slots (--batch) they
// describe t texts: tokens int64[t, n], the others [t]; t is 1 in prefill, and 1 to the number of slots in decode.
inline constexpr std::string_view kTokens = "tokens";
inline constexpr std::string_view kPosition = "position";        ///< int64[1]: of the first token
inline constexpr std::string_view kTemperature = "temperature";  ///< float32[]; 0: the most likely token
inline constexpr std::string_view kTopK = "top_k";               ///< int64[]; 0: no limit
inline constexpr std::string_view kTopP = "top_p";               ///< float32[], above 0; 1: no limit
// With slots:
inline constexpr std::string_view kSlot = "slot";  ///< int64[t]: number of the cache, from 0; distinct
inline constexpr std::string_view kSeed = "seed";  ///< int64[t]
inline constexpr std::string_view kDraw = "draw";  ///< int64[t]: count of the text's earlier draws from this seed

// Results of all, in this order.
inline constexpr std::string_view kToken = "token";    ///< int64[1, 1], in decode's form
inline constexpr std::string_view kLogits = "logits";  ///< float32[1, vocabulary], of the last token
// Shapes with slots: [t, 1] and [t, vocabulary]. Shapes of verify: the largest logits' tokens [1, n] and
// [1, n, vocabulary].

// Metadata of the archive.
inline constexpr std::string_view kVersionKey = "llm";                ///< "1": the rules of this file; "2": with slots
inline constexpr std::string_view kContextKey = "llm.context";        ///< "2048": positions of the cache
inline constexpr std::string_view kVocabularyKey = "llm.vocabulary";  ///< "32000"
inline constexpr std::string_view kBeginKey = "llm.bos";              ///< "1": first token of a text; may lack
inline constexpr std::string_view kEndKey = "llm.eos";                ///< "2, 7": end tokens; may lack
inline constexpr std::string_view kBatchKey = "llm.batch";            ///< "8": slots; absent without slots
inline constexpr std::string_view kVerifyKey = "llm.verify";          ///< "16": most tokens of verify; absent without
inline constexpr std::string_view kVersion = "1", kSlotsVersion = "2";

/// Most tokens that verify reads.
inline constexpr std::int64_t kMaxVerified = 16;

/// Decoding reads the filled part of the cache, rounded up to this many positions: each part is a memory plan.
inline constexpr std::int64_t kSlotBlock = 128;

}  // namespace tern::llm

/// Archives that turn texts into vectors: `tern export --embeddings`.
namespace tern::embedding {

/// tokens int64[t, n], lengths int64[t] -> embeddings float32[t, dimensions]. Tokens beyond a text's length have no
/// effect.
inline constexpr std::string_view kEmbed = "embed";
inline constexpr std::string_view kTokens = "tokens", kLengths = "lengths", kEmbeddings = "embeddings";

// Metadata of the archive.
inline constexpr std::string_view kVersionKey = "embed";                ///< "1": the rules of this file
inline constexpr std::string_view kDimensionsKey = "embed.dimensions";  ///< "384": numbers of a vector
inline constexpr std::string_view kContextKey = "embed.context";        ///< "256": most tokens of a text
/// "1": the first numbers of a vector are an embedding, too (Matryoshka representation learning); may lack.
inline constexpr std::string_view kCutsKey = "embed.cuts";
inline constexpr std::string_view kVersion = "1";

}  // namespace tern::embedding
