#include "exporter/gguf/rotation.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "dtypes/convert.h"
#include "dtypes/printable.h"
#include "exporter/gguf/types.h"

namespace tern::gguf {
namespace {

std::vector<double> plain_frequencies(double base, std::int64_t dimensions) {
  std::vector<double> f;
  for (std::int64_t i = 0; i < dimensions / 2; ++i)
    f.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dimensions)));
  return f;
}

/// Divides each frequency by a factor of the tensor: Llama 3, and the short and long factors of Phi 3.
void divide_by_tensor(const File& file, std::string_view name, std::vector<double>& frequencies) {
  const TensorRecord* tensor = file.tensor(name);
  if (tensor == nullptr) return;
  if (tensor->type != 0 || tensor->sizes.size() != 1 || tensor->sizes[0] != std::ssize(frequencies))
    fail(ErrorCode::bad_file,
         fmt::format("{}: at byte {}: tensor {} must be F32 [{}], a factor for each pair of dimensions", file.label(),
                     tensor->record_offset, name, frequencies.size()));
  std::vector<float> factors(frequencies.size());
  convert(tensor->bytes.data(), DType::f32, factors.data(), DType::f32, std::ssize(factors));
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!(factors[i] > 0))
      fail(ErrorCode::bad_file, fmt::format("{}: at byte {}: tensor {} has a factor that is not positive", file.label(),
                                            tensor->offset + i * sizeof(float), name));
    frequencies[i] /= static_cast<double>(factors[i]);
  }
}

/// YaRN (arXiv 2309.00071): low frequencies are divided by the factor, high ones stay, and those between are blended.
struct Yarn {
  double factor, original_context, beta_fast, beta_slow;
  bool truncates;

  void apply(double base, std::int64_t dimensions, std::vector<double>& f) const {
    const auto d = static_cast<double>(dimensions);
    const auto dimension_of = [&](double rotations) {
      return d * std::log(original_context / (rotations * 2 * std::numbers::pi)) / (2 * std::log(base));
    };
    double low = dimension_of(beta_fast), high = dimension_of(beta_slow);
    if (truncates) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, d - 1);
    if (low == high) high += 0.001;
    for (std::size_t i = 0; i < f.size(); ++i) {
      const double divided = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      f[i] = f[i] / factor * divided + f[i] * (1 - divided);
    }
  }
};

void scale(const File& file, const Metadata& metadata, const DecoderConfig& c, Rotation& r) {
  const auto factor = metadata.number(".rope.scaling.factor");
  const std::string type(metadata.text(".rope.scaling.type").value_or(factor ? "linear" : "none"));
  const auto original = static_cast<double>(
      metadata.integer(".rope.scaling.original_context_length", 1, 1 << 27).value_or(c.trained_context));
  if (factor && !(*factor > 0)) metadata.refuse(".rope.scaling.factor", "is not positive");
  if (const auto attention_factor = metadata.number(".rope.scaling.attn_factor");
      attention_factor && *attention_factor > 0)
    r.scale = *attention_factor;
  if (type == "linear") {
    for (double& f : r.frequencies) f /= factor.value_or(1);
  } else if (type == "yarn") {
    const Yarn yarn{.factor = factor.value_or(1),
                    .original_context = original,
                    .beta_fast = metadata.number(".rope.scaling.yarn_beta_fast").value_or(32),
                    .beta_slow = metadata.number(".rope.scaling.yarn_beta_slow").value_or(1),
                    .truncates = c.architecture->truncates_yarn};
    yarn.apply(r.base, r.dimensions, r.frequencies);
    if (yarn.factor > 1) r.scale *= 0.1 * std::log(yarn.factor) + 1;
  } else if (type != "none" && type != "longrope" && type != "su") {
    metadata.refuse(".rope.scaling.type",
                    fmt::format("is '{}'; none, linear, yarn and longrope are supported", printable(type)));
  }
  divide_by_tensor(file, "rope_freqs.weight", r.frequencies);
  const bool long_context = static_cast<double>(c.context) > original;
  divide_by_tensor(file, long_context ? "rope_factors_long.weight" : "rope_factors_short.weight", r.frequencies);
}

double base_of(const Metadata& metadata, std::string_view key, double otherwise) {
  const double base = metadata.number(key).value_or(otherwise);
  if (!(base > 1)) metadata.refuse(key, "is not above 1");
  return base;
}

}  // namespace

double inverse_root(double x) {
  return 1 / std::sqrt(x);
}

void read_rotations(const File& file, const Metadata& metadata, DecoderConfig& c) {
  constexpr double kDefaultBase = 10000;
  Rotation& r = c.rotation;
  r.dimensions = metadata.integer(".rope.dimension_count", 2, c.head).value_or(c.head);
  if (r.dimensions % 2 != 0) metadata.refuse(".rope.dimension_count", "is odd");
  if (c.head < 2 || (c.architecture->alternates_rows && (r.dimensions != c.head || c.head % 2 != 0)))
    metadata.refuse(".rope.dimension_count", "is not the length of a head, which this architecture needs");
  r.base = base_of(metadata, ".rope.freq_base", kDefaultBase);
  r.frequencies = plain_frequencies(r.base, r.dimensions);
  // Gemma 3's layers with a window have frequencies of their own, without scaling.
  const bool has_local = std::string_view(c.architecture->name) == "gemma3" || metadata.has_key(".rope.freq_base_swa");
  scale(file, metadata, c, r);
  c.local_rotation = r;
  if (!has_local) return;
  c.local_rotation = {.dimensions = r.dimensions, .base = base_of(metadata, ".rope.freq_base_swa", kDefaultBase)};
  c.local_rotation.frequencies = plain_frequencies(c.local_rotation.base, r.dimensions);
}

}  // namespace tern::gguf
