// Names of the functions, inputs, results and metadata of an archive that generates tokens: the exporter makes them,
// generation loops look for them. docs/generate.md has the same for people.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern::llm {

// Functions. Both update the key/value cache.
inline constexpr std::string_view kPrefill = "prefill";  ///< tokens int64[1, n]
inline constexpr std::string_view kDecode = "decode";    ///< tokens int64[1, 1]

// Inputs of both, in this order. With slots (--batch) they are of t texts: tokens int64[t, n], the others [t]; t is 1
// in prefill, and 1 to the number of slots in decode.
inline constexpr std::string_view kTokens = "tokens";
inline constexpr std::string_view kPosition = "position";        ///< int64[1]: of the first token
inline constexpr std::string_view kTemperature = "temperature";  ///< float32[]; 0: the most likely token
inline constexpr std::string_view kTopK = "top_k";               ///< int64[]; 0: no limit
inline constexpr std::string_view kTopP = "top_p";               ///< float32[], above 0; 1: no limit
// With slots:
inline constexpr std::string_view kSlot = "slot";  ///< int64[t]: which cache, from 0; each once
inline constexpr std::string_view kSeed = "seed";  ///< int64[t]
inline constexpr std::string_view kDraw = "draw";  ///< int64[t]: numbers that the text drew of this seed before

// Results of both, in this order.
inline constexpr std::string_view kToken = "token";    ///< int64[1, 1], as decode takes it
inline constexpr std::string_view kLogits = "logits";  ///< float32[1, vocabulary], of the last token
// With slots: [t, 1] and [t, vocabulary].

// Metadata of the archive.
inline constexpr std::string_view kVersionKey = "llm";                ///< "1": the rules of this file; "2": with slots
inline constexpr std::string_view kContextKey = "llm.context";        ///< "2048": positions of the cache
inline constexpr std::string_view kVocabularyKey = "llm.vocabulary";  ///< "32000"
inline constexpr std::string_view kBeginKey = "llm.bos";              ///< "1": token that begins a text; may lack
inline constexpr std::string_view kEndKey = "llm.eos";                ///< "2, 7": tokens that end it; may lack
inline constexpr std::string_view kBatchKey = "llm.batch";            ///< "8": slots; lacks without them
inline constexpr std::string_view kVersion = "1", kSlotsVersion = "2";

/// Decoding reads the filled part of the cache, rounded up to this many positions: each part is a memory plan.
inline constexpr std::int64_t kSlotBlock = 128;

}  // namespace tern::llm
