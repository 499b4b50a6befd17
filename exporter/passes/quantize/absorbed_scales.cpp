#include "exporter/passes/quantize/absorbed_scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "exporter/constants.h"
#include "exporter/passes/simplify/dataflow.h"
#include "schema/def_use.h"
#include "threads/parallel.h"

namespace tern {
namespace {

using namespace quantize;

constexpr int kPowers = 20;

/// A float32 storage, whose number e belongs to the channel e / stride % channels.
struct ChannelStorage {
  std::uint32_t storage = 0;
  std::int64_t stride = 1;
};

struct ScaledWeight {
  ChannelStorage storage;
  std::string name;
  MatrixPart matrix;
};

/// Weights that multiply one value, and the operands that divide it.
struct ScaledGroup {
  std::int64_t channels = 0;
  std::vector<ChannelStorage> absorbers;
  std::vector<ScaledWeight> weights;
};

class Groups {
 public:
  Groups(const Program& program, std::uint32_t function)
      : program_(program), function_(function), f_(program.functions[function]), def_use_(f_), flow_(f_) {
    for (const FunctionInput& input : f_.inputs) {
      if (input.kind == FunctionInput::Kind::state && input.value != kNoValue) states_[input.value] = input.state;
    }
    for (const auto& [storage, weight] : weights_of(program)) {
      const State& state = program.states[weight.state];
      const bool once = weight.uses.size() == 1 && weight.obstacle.empty() && weight.uses[0].product;
      if (!once || weight.uses[0].function != function || !is_own_float_storage(program, state)) continue;
      const MatrixPart& p = weight.uses[0].matrix;
      const bool is_full = p.planes == 1 && !p.batched && state.type.rank() == 2 &&
                           (p.column_stride == 1 || p.row_stride == 1) && p.rows > 1 && p.columns > 1;
      if (is_full && f_.nodes[weight.uses[0].node].op == Op::matmul)
        weights_.emplace(weight.uses[0].node, ScaledWeight{{storage, p.column_stride}, state.name, p});
    }
  }

  std::vector<ScaledGroup> find() const {
    std::vector<ScaledGroup> groups;
    for (const Node& n : f_.nodes) {
      if (n.outputs.empty() || n.outputs[0] == kNoValue) continue;
      const ValueId y = n.outputs[0];
      ScaledGroup group;
      if (!add_weights(y, group)) continue;
      group.absorbers = absorbers_of(n, group.channels);
      if (!group.absorbers.empty()) groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  /// The weights that multiply y, if products alone read it.
  bool add_weights(ValueId y, ScaledGroup& group) const {
    if (def_use_.result_count(y) > 0) return false;
    for (const ValueReader& r : def_use_.readers(y)) {
      const auto found = weights_.find(r.node);
      if (r.operand != 0 || found == weights_.end()) return false;
      group.weights.push_back(found->second);
      group.channels = found->second.matrix.columns;
    }
    return !group.weights.empty();
  }

  std::vector<ChannelStorage> absorbers_of(const Node& n, std::int64_t channels) const {
    if (n.op == Op::layer_norm || n.op == Op::rms_norm) return norm_absorbers(n, channels);
    const auto multiplication = flow_.operation(n);
    if (!multiplication || multiplication->op != Scalar::mul || multiplication->count != 2) return {};
    for (const ScalarOperand& operand : multiplication->operands) {
      if (const auto vector = vector_of(operand.value, channels)) return {*vector};
    }
    for (const ScalarOperand& operand : multiplication->operands) {
      std::vector<ChannelStorage> rows = product_absorbers(operand.value, channels);
      if (!rows.empty()) return rows;
    }
    return {};
  }

  std::vector<ChannelStorage> norm_absorbers(const Node& n, std::int64_t channels) const {
    std::vector<ChannelStorage> absorbers;
    for (std::size_t i = 1; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == kNoValue && i == 2) continue;
      const auto vector = vector_of(n.inputs[i], channels);
      if (!vector) return {};
      absorbers.push_back(*vector);
    }
    return absorbers;
  }

  /// The weight and bias of a product that no other node reads.
  std::vector<ChannelStorage> product_absorbers(ValueId v, std::int64_t channels) const {
    const std::int64_t producer = def_use_.producer(v);
    if (v == kNoValue || producer < 0 || !def_use_.is_read_by_nodes(v, 1)) return {};
    const Node& n = f_.nodes[static_cast<std::size_t>(producer)];
    const auto weight = weights_.find(static_cast<std::size_t>(producer));
    if (weight == weights_.end() || weight->second.matrix.rows != channels) return {};
    std::vector<ChannelStorage> absorbers = {{weight->second.storage.storage, weight->second.matrix.row_stride}};
    if (n.inputs.size() > 2 && n.inputs[2] != kNoValue) {
      const auto bias = vector_of(n.inputs[2], channels);
      if (!bias) return {};
      absorbers.push_back(*bias);
    }
    return absorbers;
  }

  /// A state [channels] that one node reads.
  std::optional<ChannelStorage> vector_of(ValueId v, std::int64_t channels) const {
    const auto found = states_.find(v);
    if (found == states_.end() || !def_use_.is_read_by_nodes(v, 1)) return {};
    const State& s = program_.states[found->second];
    if (s.type.rank() != 1 || !s.type.shape[0].is(channels) || !is_own_float_storage(program_, s)) return {};
    for (std::uint32_t i = 0; i < program_.functions.size(); ++i) {
      const auto reads_state = [&](const FunctionInput& input) {
        return input.kind == FunctionInput::Kind::state && input.state == found->second;
      };
      if (i != function_ && std::ranges::any_of(program_.functions[i].inputs, reads_state)) return {};
    }
    return ChannelStorage{s.storage, 1};
  }

  const Program& program_;
  std::uint32_t function_;
  const Function& f_;
  DefUse def_use_;
  Dataflow flow_;
  std::map<ValueId, std::uint32_t> states_;
  std::map<std::size_t, ScaledWeight> weights_;  ///< key: the node that multiplies the weight
};

/// Multiplies the numbers of a storage by factors of their channels.
void multiply_channels(const ChannelStorage& s, const std::vector<float>& factors, std::span<float> numbers) {
  const auto stride = static_cast<std::size_t>(s.stride), channels = factors.size();
  for (std::size_t e = 0; e < numbers.size(); ++e) numbers[e] *= factors[e / stride % channels];
}

std::vector<float> stored_floats(const Program& program, std::uint32_t storage) {
  const std::span<const std::byte> bytes = program.source->bytes(storage);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

/// Error of the weight in the recipe's format, weighted by importance.
double weighted_noise(const ScaledWeight& w, const std::vector<float>& numbers, const Recipe& recipe,
                      const std::vector<float>& importance) {
  const MatrixPart& p = w.matrix;
  const FloatMatrix m{
      reinterpret_cast<const std::byte*>(numbers.data()), DType::f32, p.rows, p.columns, p.row_stride, p.column_stride};
  const Quantized q = quantize::quantize(m, recipe, importance);
  const QuantizedMatrix layout{recipe.format->element, m.rows, m.columns, q.blocks};
  double noise = 0;
  std::mutex mutex;
  parallel_for(m.rows, 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> x(static_cast<std::size_t>(m.columns)), y(x.size());
    double weight_noise = 0;
    for (std::int64_t r = begin; r < end; ++r) {
      read_rows(m, r, 1, x.data());
      dequantize_row(layout, q.bytes.data(), r, 0, m.columns, y.data());
      float sum = 0;
      for (std::size_t j = 0; j < x.size(); ++j) sum += importance[j] * (x[j] - y[j]) * (x[j] - y[j]);
      weight_noise += static_cast<double>(sum);
    }
    const std::lock_guard lock(mutex);
    noise += weight_noise;
  });
  return noise;
}

std::vector<float> scales_of(const std::vector<float>& importance, double power) {
  std::vector<float> scales(importance.size());
  double largest = 0, smallest = 1e300;
  for (std::size_t j = 0; j < scales.size(); ++j) {
    const double s = std::pow(std::max(static_cast<double>(importance[j]), 1e-4), power / 2);
    largest = std::max(largest, s);
    smallest = std::min(smallest, s);
    scales[j] = static_cast<float>(s);
  }
  const auto factor = static_cast<float>(1 / std::sqrt(largest * smallest));
  for (float& s : scales) s *= factor;
  return scales;
}

}  // namespace

std::size_t absorb_scales(const Program& program,
                          const std::function<const Recipe*(const std::string& weight)>& recipe_of,
                          std::map<WeightPart, std::vector<float>>& importance) {
  const auto source = std::dynamic_pointer_cast<ExtendableSource>(program.source);
  if (source == nullptr) return 0;
  std::size_t changed_count = 0;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    for (const ScaledGroup& group : Groups(program, f).find()) {
      const auto found = importance.find(WeightPart(group.weights[0].name, group.weights[0].matrix));
      if (found == importance.end()) continue;
      const bool all_scalable = std::ranges::all_of(group.weights, [&](const ScaledWeight& w) {
        return recipe_of(w.name) != nullptr && importance.contains(WeightPart(w.name, w.matrix));
      });
      if (!all_scalable) continue;
      const std::vector<float> factors = importance_factors(found->second, group.channels);
      std::vector<std::vector<float>> numbers;
      for (const ScaledWeight& w : group.weights) numbers.push_back(stored_floats(program, w.storage.storage));
      double lower = 0;
      std::vector<float> best_scales;
      for (int i = 0; i < kPowers; ++i) {
        const std::vector<float> scales = scales_of(factors, static_cast<double>(i) / kPowers);
        std::vector<float> weighted = factors;
        for (std::size_t j = 0; j < weighted.size(); ++j) weighted[j] /= scales[j] * scales[j];
        double noise = 0;
        for (std::size_t w = 0; w < group.weights.size(); ++w) {
          std::vector<float> scaled = numbers[w];
          multiply_channels(group.weights[w].storage, scales, scaled);
          noise += weighted_noise(group.weights[w], scaled, *recipe_of(group.weights[w].name), weighted);
        }
        if (i > 0 && noise >= lower) continue;
        lower = noise;
        best_scales = i > 0 ? scales : std::vector<float>();
      }
      if (best_scales.empty()) continue;
      std::vector<float> reciprocals(best_scales.size());
      for (std::size_t j = 0; j < best_scales.size(); ++j) reciprocals[j] = 1 / best_scales[j];
      const auto multiply_storage = [&](const ChannelStorage& s, const std::vector<float>& factor) {
        source->replace(s.storage, [s, factor](std::span<const std::byte> old_bytes) {
          std::vector<std::byte> new_bytes(old_bytes.begin(), old_bytes.end());
          multiply_channels(s, factor, {reinterpret_cast<float*>(new_bytes.data()), new_bytes.size() / sizeof(float)});
          return new_bytes;
        });
      };
      for (const ScaledWeight& w : group.weights) {
        multiply_storage(w.storage, best_scales);
        std::vector<float>& weight_importance = importance.at(WeightPart(w.name, w.matrix));
        for (std::size_t j = 0; j < weight_importance.size(); ++j)
          weight_importance[j] *= reciprocals[j] * reciprocals[j];
      }
      for (const ChannelStorage& a : group.absorbers) multiply_storage(a, reciprocals);
      ++changed_count;
    }
  }
  return changed_count;
}

}  // namespace tern
