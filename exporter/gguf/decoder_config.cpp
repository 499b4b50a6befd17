#include "exporter/gguf/decoder_config.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <iterator>

#include "dtypes/printable.h"
#include "exporter/gguf/rotation.h"

namespace tern::gguf {
namespace {

constexpr std::int64_t kMostLayers = 4096, kMostWidth = 1 << 20, kMostHeads = 1 << 14, kMostContext = 1 << 27;

constexpr Architecture kArchitectures[] = {
    {.name = "llama", .models = "Llama, SmolLM, Mistral", .alternates_rows = true},
    {.name = "qwen2", .models = "Qwen 2 and 2.5"},
    {.name = "qwen3", .models = "Qwen 3"},
    {.name = "gemma", .models = "Gemma", .scales_embedding = true, .activation = Activation::gelu_tanh},
    {.name = "gemma2",
     .models = "Gemma 2",
     .scales_embedding = true,
     .activation = Activation::gelu_tanh,
     .window_period = 2,
     .layers_scaled_by_width = 46},
    {.name = "gemma3",
     .models = "Gemma 3, text",
     .scales_embedding = true,
     .activation = Activation::gelu_tanh,
     .window_period = 6,
     .layers_scaled_by_width = 62},
    {.name = "phi3", .models = "Phi 3 and 4"},
    {.name = "gpt-oss",
     .models = "gpt-oss",
     .activation = Activation::clamped_swiglu,
     .window_period = 2,
     .truncates_yarn = false},
};

const Architecture& find_architecture(const File& file, const Metadata& metadata) {
  const auto found =
      std::ranges::find_if(kArchitectures, [&](const Architecture& a) { return metadata.architecture() == a.name; });
  if (found == std::end(kArchitectures))
    fail(ErrorCode::unsupported,
         fmt::format("{}: the architecture '{}' is not supported; supported are {}. Export the model's own PyTorch "
                     "program instead (docs/generate.md)",
                     file.label(), printable(metadata.architecture()), architectures_text()));
  return *found;
}

/// Layers with a window: from the metadata, or the architecture's period.
std::vector<bool> windowed_layers(const Metadata& metadata, const Architecture& a, std::int64_t layers) {
  constexpr const char* kPattern = ".attention.sliding_window_pattern";
  std::vector<bool> windowed(static_cast<std::size_t>(layers), true);
  std::int64_t period = a.window_period;
  if (metadata.has_key(kPattern)) {
    const std::vector<std::int64_t> pattern = metadata.each_layer(kPattern, layers, 0, kMostLayers);
    if (std::ranges::all_of(pattern, [](std::int64_t n) { return n <= 1; })) {
      for (std::size_t i = 0; i < pattern.size(); ++i) windowed[i] = pattern[i] != 0;
      return windowed;
    }
    period = pattern.front();
  }
  for (std::int64_t i = 0; period > 1 && i < layers; ++i) windowed[static_cast<std::size_t>(i)] = (i + 1) % period != 0;
  return windowed;
}

void read_layers(const Metadata& metadata, DecoderConfig& c) {
  const std::int64_t window = metadata.integer(".attention.sliding_window", 0, kMostContext).value_or(0);
  const std::vector<bool> windowed = windowed_layers(metadata, *c.architecture, c.layers);
  const std::vector<std::int64_t> key_heads =
      metadata.has_key(".attention.head_count_kv")
          ? metadata.each_layer(".attention.head_count_kv", c.layers, 1, kMostHeads)
          : std::vector<std::int64_t>(static_cast<std::size_t>(c.layers), c.heads);
  for (std::size_t i = 0; i < key_heads.size(); ++i) {
    if (c.heads % key_heads[i] != 0)
      metadata.refuse(".attention.head_count_kv",
                      fmt::format("is {}, which does not divide {} heads", key_heads[i], c.heads));
    const bool has_window = window > 0 && windowed[i];
    c.layer.push_back({.window = has_window ? window : 0, .key_heads = key_heads[i], .local_rotation = has_window});
  }
}

void read_heads(const Metadata& metadata, DecoderConfig& c) {
  const std::vector<std::int64_t> heads = metadata.each_layer(".attention.head_count", c.layers, 1, kMostHeads);
  if (std::ranges::any_of(heads, [&](std::int64_t n) { return n != heads.front(); }))
    metadata.refuse(".attention.head_count", "differs between layers, which is not supported");
  c.heads = heads.front();
  c.head = metadata.integer(".attention.key_length", 1, kMostWidth).value_or(c.width / c.heads);
  if (c.head < 1) metadata.refuse(".attention.head_count", fmt::format("is {} for a width of {}", c.heads, c.width));
  if (const auto values = metadata.integer(".attention.value_length", 1, kMostWidth); values && *values != c.head)
    metadata.refuse(".attention.value_length",
                    fmt::format("is {}, but keys have {}; unequal lengths are not supported", *values, c.head));
}

double attention_scale(const Metadata& metadata, const DecoderConfig& c) {
  if (const auto scale = metadata.number(".attention.scale"); scale && *scale > 0) return *scale;
  const bool by_width = c.architecture->layers_scaled_by_width == c.layers;
  return inverse_root(static_cast<double>(by_width ? c.width / c.heads : c.head));
}

}  // namespace

std::span<const Architecture> architectures() {
  return kArchitectures;
}

std::string architectures_text() {
  std::string text;
  for (const Architecture& a : kArchitectures)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", a.name, a.models);
  return text;
}

DecoderConfig decoder_config(const File& file, const Metadata& metadata, std::int64_t context) {
  DecoderConfig c;
  c.architecture = &find_architecture(file, metadata);
  c.layers = metadata.required_integer(".block_count", 1, kMostLayers);
  c.width = metadata.required_integer(".embedding_length", 1, kMostWidth);
  c.trained_context = metadata.integer(".context_length", 1, kMostContext).value_or(kDefaultContext);
  c.context = context != 0 ? context : std::min(c.trained_context, kDefaultContext);
  c.epsilon = metadata.number(".attention.layer_norm_rms_epsilon").value_or(1e-6);
  read_heads(metadata, c);
  c.attention_scale = attention_scale(metadata, c);
  c.attention_cap = metadata.number(".attn_logit_softcapping").value_or(0);
  c.logit_cap = metadata.number(".final_logit_softcapping").value_or(0);
  c.experts = metadata.integer(".expert_count", 0, 1 << 16).value_or(0);
  c.used_experts = metadata.integer(".expert_used_count", 0, 1 << 16).value_or(0);
  if (c.experts > 0 && (c.used_experts < 1 || c.used_experts > c.experts))
    metadata.refuse(".expert_used_count", fmt::format("is {} of {} experts", c.used_experts, c.experts));
  if (c.experts > 0 && c.architecture->activation != Activation::clamped_swiglu)
    fail(
        ErrorCode::unsupported,
        fmt::format("{}: the model has {} experts, which are not supported for the architecture {}; export the model's "
                    "own PyTorch program instead (docs/generate.md)",
                    file.label(), c.experts, c.architecture->name));
  read_layers(metadata, c);
  read_rotations(file, metadata, c);
  return c;
}

}  // namespace tern::gguf
