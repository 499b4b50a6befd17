// Names of functions, inputs, results and metadata of a generating archive: written by the exporter, read by generation
// loops. docs/generate.md explains them.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern::llm {

// Functions. Both update the key/value cache.
inline constexpr std::string_view kPrefill = "prefill";  ///< tokens int64[1, n]
inline constexpr std::string_view kDecode = "decode";    ///< tokens int64[1, 1]

// Inputs of both functions, in this order. With slots (--batch) they describe t texts: tokens int64[t, n], the others
// [t]; t is 1 in prefill, and 1 to the number of slots in decode.
inline constexpr std::string_view kTokens = "tokens";
inline constexpr std::string_view kPosition = "position";        ///< int64[1]: of the first token
inline constexpr std::string_view kTemperature = "temperature";  ///< float32[]; 0: the most likely token
inline constexpr std::string_view kTopK = "top_k";               ///< int64[]; 0: no limit
inline constexpr std::string_view kTopP = "top_p";               ///< float32[], above 0; 1: no limit
// With slots:
inline constexpr std::string_view kSlot = "slot";  ///< int64[t]: number of the cache, from 0; distinct
inline constexpr std::string_view kSeed = "seed";  ///< int64[t]
inline constexpr std::string_view kDraw = "draw";  ///< int64[t]: count of the text's earlier draws from this seed

// Results of both, in this order.
inline constexpr std::string_view kToken = "token";    ///< int64[1, 1], in decode's form
inline constexpr std::string_view kLogits = "logits";  ///< float32[1, vocabulary], of the last token
// Shapes with slots: [t, 1] and [t, vocabulary].

// Metadata of the archive.
inline constexpr std::string_view kVersionKey = "llm";                ///< "1": the rules of this file; "2": with slots
inline constexpr std::string_view kContextKey = "llm.context";        ///< "2048": positions of the cache
inline constexpr std::string_view kVocabularyKey = "llm.vocabulary";  ///< "32000"
inline constexpr std::string_view kBeginKey = "llm.bos";              ///< "1": first token of a text; may lack
inline constexpr std::string_view kEndKey = "llm.eos";                ///< "2, 7": end tokens; may lack
inline constexpr std::string_view kBatchKey = "llm.batch";            ///< "8": slots; absent without slots
inline constexpr std::string_view kVersion = "1", kSlotsVersion = "2";

/// Decoding reads the filled part of the cache, rounded up to this many positions: each part is a memory plan.
inline constexpr std::int64_t kSlotBlock = 128;

}  // namespace tern::llm
