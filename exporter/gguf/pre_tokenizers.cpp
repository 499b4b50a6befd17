#include "exporter/gguf/pre_tokenizers.h"

#include <algorithm>
#include <iterator>

namespace tern::gguf {
namespace {

// The patterns are those of the models' own tokenizer.json.
constexpr const char* kThreeDigits =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kOneDigit =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kCases =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr PreTokenizer kPreTokenizers[] = {
    {.name = "default", .pattern = nullptr},
    {.name = "gpt-2", .pattern = nullptr},
    {.name = "smollm", .pattern = nullptr, .separates_digits = true},
    {.name = "llama-bpe", .pattern = kThreeDigits, .ignores_merges = true, .adds_bos = true},
    {.name = "llama3", .pattern = kThreeDigits, .ignores_merges = true, .adds_bos = true},
    {.name = "llama-v3", .pattern = kThreeDigits, .ignores_merges = true, .adds_bos = true},
    {.name = "dbrx", .pattern = kThreeDigits},
    {.name = "qwen2", .pattern = kOneDigit, .composes = true},
    {.name = "deepseek-r1-qwen", .pattern = kOneDigit, .composes = true},
    {.name = "gpt-4o", .pattern = kCases},
    {.name = "tekken", .pattern = kTekken, .ignores_merges = true, .adds_bos = true},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto found = std::ranges::find(kPreTokenizers, name, &PreTokenizer::name);
  return found == std::end(kPreTokenizers) ? nullptr : found;
}

}  // namespace tern::gguf
