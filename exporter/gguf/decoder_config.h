// The decoder that a GGUF file's metadata describe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/gguf/metadata.h"

namespace tern::gguf {

enum class Activation : std::uint8_t { silu, gelu_tanh, clamped_swiglu };

/// Facts of an architecture that its files leave out.
struct Architecture {
  const char* name;               ///< general.architecture
  const char* models;             ///< names for messages
  bool alternates_rows = false;   ///< rows of queries and keys alternate between the halves of a head
  bool scales_embedding = false;  ///< multiplies rows by the root of their length
  Activation activation = Activation::silu;
  /// Each layer with this number, from 1, attends to all positions, and the others to a window; 1: all layers have the
  /// window of the metadata.
  int window_period = 1;
  /// Layers of the model whose queries are scaled by the width of the embedding, not of a head: 27 B of Gemma. 0: none.
  int layers_scaled_by_width = 0;
  bool truncates_yarn = true;  ///< rounds the range of dimensions that YaRN blends
};

std::span<const Architecture> architectures();
/// "llama, qwen2, ...".
std::string architectures_text();

/// Angles of a position: a frequency for each pair of dimensions of a head.
struct Rotation {
  std::int64_t dimensions = 0;  ///< rotated ones of a head
  double base = 10000;
  double scale = 1;                 ///< factor of sines and cosines
  std::vector<double> frequencies;  ///< each pair of dimensions has one
};

struct LayerConfig {
  std::int64_t window = 0;  ///< positions that a query sees; 0: all
  std::int64_t key_heads = 0;
  bool local_rotation = false;  ///< the rotation of layers with a window
};

struct DecoderConfig {
  const Architecture* architecture = nullptr;
  std::int64_t layers = 0, width = 0, heads = 0, head = 0, trained_context = 0, context = 0;
  double epsilon = 0, attention_scale = 0;
  double attention_cap = 0, logit_cap = 0;  ///< limits by tanh; 0: none
  std::int64_t experts = 0, used_experts = 0;
  Rotation rotation, local_rotation;
  std::vector<LayerConfig> layer;
};

/// `context`: positions of the cache, 0 for the default. Throws unsupported for another architecture, naming those that
/// are known, and bad_file for metadata that contradict each other or the tensors.
DecoderConfig decoder_config(const File& file, const Metadata& metadata, std::int64_t context);

/// Positions of the cache where --context does not say: more take memory that few answers need.
inline constexpr std::int64_t kDefaultContext = 4096;

}  // namespace tern::gguf
