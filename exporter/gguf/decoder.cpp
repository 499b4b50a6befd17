#include "exporter/gguf/decoder.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cmath>
#include <map>
#include <utility>

#include "exporter/builder.h"
#include "exporter/gguf/decoder_weights.h"
#include "generation/names.h"

namespace tern::gguf {
namespace {

constexpr double kHidden = -1e30;  // score of a hidden position, added to others

/// Names of one matrix or norm: the file's tensor, and the module of transformers, whose names the states take.
struct LayerNames {
  std::string tensor, module;
};

class DecoderProgram {
 public:
  DecoderProgram(const File& file, const DecoderConfig& config, Program& program)
      : c_(config), b_(program, 0), weights_(file, b_) {}

  void build() {
    take_inputs();
    take_rotations();
    const TensorRecord& table = weights_.require("token_embd.weight", {-1, c_.width});
    vocabulary_ = table.sizes[0];
    enter_module("model.embed_tokens");
    const ValueId embedding = weights_.full_tensor(table, "model.embed_tokens.weight");
    ValueId x = rows_of_table(embedding);
    if (c_.architecture->scales_embedding)
      x = b_.expr("x * s", {{"x", x}, {"s", std::sqrt(static_cast<double>(c_.width))}}, DType::f32);
    for (std::int64_t i = 0; i < c_.layers; ++i) x = layer(i, x);
    x = norm(x, {"output_norm", "model.norm"}, c_.width);
    finish(logits(x, embedding));
  }

 private:
  ValueId rows_of_table(ValueId table) {
    if (!b_.type(table).quantized()) return b_.cast(b_.index_select(table, tokens_, 0), DType::f32);
    return b_.add(Op::index_select, {table, tokens_}, {attr(AttrKey::axis, Dim(0)), attr_dtype(DType::f32)});
  }

  // Origins name modules, for messages and for the patterns of --quantize.
  void enter_module(const std::string& module) {
    Program& program = b_.program();
    program.origins.push_back({"gguf", module, {}});
    b_.set_origin(static_cast<std::int32_t>(program.origins.size()) - 1);
  }

  void take_inputs() {
    count_ = b_.pool().new_symbol("tokens", 0, kNoBound);
    tokens_ = b_.add_value({DType::i64, {1, count_}}, "input_ids");
    const ValueId position = b_.add_value({DType::i64, {1}}, "cache_position");
    b_.function().inputs.push_back({FunctionInput::Kind::user, tokens_, 0, "input_ids", {}});
    b_.function().inputs.push_back({FunctionInput::Kind::user, position, 0, "cache_position", {}});
    enter_module("model");
    start_ = b_.reshape(position, {});
    positions_ = b_.expr("i + p", {{"i", b_.iota(count_, DType::i64)}, {"p", start_}}, DType::i64);
  }

  /// Sines and cosines of each pair, once for each half, the first sines negative.
  struct Waves {
    ValueId cosines = kNoValue, sines = kNoValue;  ///< [1, 1, tokens, 2, half]
    std::int64_t dimensions = 0;
  };

  Waves waves(const Rotation& r, const std::string& name) {
    enter_module("model." + name);
    const auto half = static_cast<std::int64_t>(r.frequencies.size());
    const ValueId frequencies =
        weights_.numbers(std::vector<float>(r.frequencies.begin(), r.frequencies.end()), "model." + name + ".inv_freq");
    const ValueId angles = b_.expr(
        "p * f", {{"p", b_.cast(b_.reshape(positions_, {1, count_, 1}), DType::f32)}, {"f", frequencies}}, DType::f32);
    const ValueId repeated_angles = b_.concat({angles, angles}, 2);
    const auto wave = [&](const char* text) {
      return b_.reshape(b_.expr(text, {{"a", repeated_angles}, {"s", r.scale}}, DType::f32), {1, 1, count_, 2, half});
    };
    const ValueId sines = wave("sin(a) * s");
    const ValueId sign = b_.reshape(b_.iota(2, DType::f32, -1, 2), {1, 1, 1, 2, 1});
    return {wave("cos(a) * s"), b_.expr("a * s", {{"a", sines}, {"s", sign}}, DType::f32), r.dimensions};
  }

  void take_rotations() {
    waves_ = waves(c_.rotation, "rotary_emb");
    const bool same_frequencies = c_.local_rotation.frequencies == c_.rotation.frequencies;
    local_waves_ = same_frequencies ? waves_ : waves(c_.local_rotation, "rotary_emb_local");
  }

  /// Rotates the first dimensions of heads [1, heads, tokens, head].
  ValueId rotate(ValueId x, const Waves& w) {
    const Dims shape = b_.shape(x);
    const ValueId slice = b_.slice(x, 3, 0, w.dimensions);
    const ValueId halves = b_.reshape(slice, {shape[0], shape[1], shape[2], 2, w.dimensions / 2});
    const ValueId half_rotated = b_.expr(
        "x * c + y * s", {{"x", halves}, {"c", w.cosines}, {"y", b_.flip(halves, {3})}, {"s", w.sines}}, DType::f32);
    const ValueId rotated = b_.reshape(half_rotated, {shape[0], shape[1], shape[2], w.dimensions});
    if (w.dimensions == c_.head) return rotated;
    return b_.concat({rotated, b_.slice(x, 3, w.dimensions, c_.head - w.dimensions)}, 3);
  }

  ValueId norm(ValueId x, const LayerNames& names, std::int64_t size) {
    const TensorRecord& tensor = weights_.require(names.tensor + ".weight", {size});
    enter_module(names.module);
    const ValueId weight = weights_.floats(tensor, names.module + ".weight", {size}, {0, size});
    return b_.add(Op::rms_norm, {x, weight}, {attr(AttrKey::k, Dim(1)), attr_number(AttrKey::epsilon, c_.epsilon)});
  }
  bool has_tensor(const std::string& tensor) { return weights_.find(tensor + ".weight") != nullptr; }

  ValueId product(ValueId x, ValueId weight, ValueId bias = kNoValue) {
    const ValueId right = b_.type(weight).quantized() ? weight : b_.transpose(weight, 0, 1);
    return b_.add(Op::matmul, {x, right, bias}, {attr_dtype(DType::f32)});
  }

  /// x times rows of a matrix [row_count, input_width], plus their bias if the file has one.
  ValueId linear(ValueId x, const LayerNames& names, std::int64_t row_count, std::int64_t input_width,
                 const RowRange& rows) {
    const TensorRecord& tensor = weights_.require(names.tensor + ".weight", {row_count, input_width});
    enter_module(names.module);
    const ValueId weight = weights_.matrix(tensor, names.module + ".weight", rows);
    ValueId bias = kNoValue;
    if (weights_.find(names.tensor + ".bias") != nullptr)
      bias = weights_.floats(weights_.require(names.tensor + ".bias", {row_count}), names.module + ".bias",
                             {rows.count}, rows);
    return product(x, weight, bias);
  }
  ValueId linear(ValueId x, const LayerNames& names, std::int64_t output_width, std::int64_t input_width) {
    return linear(x, names, output_width, input_width, {0, output_width});
  }

  ValueId add(ValueId a, ValueId b) { return b_.expr("a + b", {{"a", a}, {"b", b}}, DType::f32); }

  ValueId layer(std::int64_t i, ValueId x) {
    const std::string tensors = fmt::format("blk.{}.", i), modules = fmt::format("model.layers.{}.", i);
    const bool is_sparse = has_tensor(tensors + "ffn_gate_inp");
    // gpt-oss calls the norm before its experts by another name.
    const bool norms_results = has_tensor(tensors + "post_ffw_norm");
    ValueId y = norm(x, {tensors + "attn_norm", modules + "input_layernorm"}, c_.width);
    y = attention(i, y, tensors, modules + "self_attn.");
    if (norms_results) y = norm(y, {tensors + "post_attention_norm", modules + "post_attention_layernorm"}, c_.width);
    enter_module(modules + "residual");
    x = add(x, y);
    const std::string pre_norm = has_tensor(tensors + "ffn_norm") ? "ffn_norm" : "post_attention_norm";
    y = norm(x,
             {tensors + pre_norm, modules + (norms_results ? "pre_feedforward_layernorm" : "post_attention_layernorm")},
             c_.width);
    y = is_sparse ? experts(y, tensors, modules + "mlp.") : feed_forward(y, tensors, modules + "mlp.");
    if (norms_results) y = norm(y, {tensors + "post_ffw_norm", modules + "post_feedforward_layernorm"}, c_.width);
    enter_module(modules + "residual");
    return add(x, y);
  }

  // Attention.

  /// Heads [1, heads, tokens, head] of a product.
  ValueId heads(ValueId x, std::int64_t count, const LayerNames& norms) {
    x = b_.reshape(x, {1, count_, count, c_.head});
    if (has_tensor(norms.tensor)) x = norm(x, norms, c_.head);
    return b_.permute(x, {0, 2, 1, 3});
  }

  /// Queries, keys and values, from one matrix or three.
  std::vector<ValueId> projections(ValueId x, std::int64_t key_heads, const std::string& tensors,
                                   const std::string& modules) {
    const std::int64_t q = c_.heads * c_.head, k = key_heads * c_.head, row_count = q + 2 * k;
    const std::string joined = tensors + "attn_qkv";
    if (has_tensor(joined))
      return {linear(x, {joined, modules + "q_proj"}, row_count, c_.width, {0, q}),
              linear(x, {joined, modules + "k_proj"}, row_count, c_.width, {q, k}),
              linear(x, {joined, modules + "v_proj"}, row_count, c_.width, {q + k, k})};
    const std::int64_t head = c_.architecture->alternates_rows ? c_.head : 0;
    return {linear(x, {tensors + "attn_q", modules + "q_proj"}, q, c_.width, {0, q, head}),
            linear(x, {tensors + "attn_k", modules + "k_proj"}, k, c_.width, {0, k, head}),
            linear(x, {tensors + "attn_v", modules + "v_proj"}, k, c_.width)};
  }

  ValueId attention(std::int64_t i, ValueId x, const std::string& tensors, const std::string& modules) {
    const LayerConfig& l = c_.layer[static_cast<std::size_t>(i)];
    const std::vector<ValueId> qkv = projections(x, l.key_heads, tensors, modules);
    ValueId q = heads(qkv[0], c_.heads, {tensors + "attn_q_norm", modules + "q_norm"});
    ValueId k = heads(qkv[1], l.key_heads, {tensors + "attn_k_norm", modules + "k_norm"});
    enter_module(modules.substr(0, modules.size() - 1));
    const ValueId v = b_.permute(b_.reshape(qkv[2], {1, count_, l.key_heads, c_.head}), {0, 2, 1, 3});
    const Waves& w = l.local_rotation ? local_waves_ : waves_;
    q = rotate(q, w);
    k = rotate(k, w);
    const ValueId keys = update(fmt::format("key_cache_{}", i), k, l.key_heads),
                  values = update(fmt::format("value_cache_{}", i), v, l.key_heads), visible = mask(l.window);
    const TensorRecord* sinks = weights_.find(tensors + "attn_sinks.weight");
    const bool is_usual = sinks == nullptr && c_.attention_cap == 0;
    ValueId y = is_usual ? b_.add(Op::attention, {q, keys, values, visible},
                                  {attr(AttrKey::causal, Dim(0)), attr_number(AttrKey::scale, c_.attention_scale)})
                         : special_attention(q, keys, values, visible, tensors, modules);
    y = b_.reshape(b_.permute(y, {0, 2, 1, 3}), {1, count_, c_.heads * c_.head});
    return linear(y, {tensors + "attn_output", modules + "o_proj"}, c_.width, c_.heads * c_.head);
  }

  /// The cache with the new keys or values at the positions of the tokens.
  ValueId update(const std::string& name, ValueId x, std::int64_t count) {
    std::uint32_t state = 0;
    const ValueId cache = weights_.cache(name, {1, count, c_.context, c_.head}, &state);
    const auto index = [&](ValueId v, Dims sizes) {
      return b_.expand(b_.reshape(v, std::move(sizes)), {1, count, count_});
    };
    const ValueId updated =
        b_.add(Op::index_put,
               {cache, x, index(b_.iota(1, DType::i64), {1, 1, 1}), index(b_.iota(count, DType::i64), {1, count, 1}),
                index(positions_, {1, 1, count_})},
               {attr(AttrKey::accumulate, Dim(0))});
    b_.function().writebacks.push_back({WriteBack::Target::state, state, updated});
    return updated;
  }

  /// True for positions that a token sees: [1, 1, tokens, context].
  ValueId mask(std::int64_t window) {
    const auto found = masks_.find(window);
    if (found != masks_.end()) return found->second;
    const ValueId key = b_.reshape(b_.iota(c_.context, DType::i64), {1, 1, 1, c_.context}),
                  query = b_.reshape(positions_, {1, 1, count_, 1});
    const ValueId result =
        window == 0 ? b_.expr("k <= q", {{"k", key}, {"q", query}}, DType::i64, DType::boolean)
                    : b_.expr("k <= q && k > q - w", {{"k", key}, {"q", query}, {"w", static_cast<double>(window)}},
                              DType::i64, DType::boolean);
    masks_.emplace(window, result);
    return result;
  }

  /// Positions that attention outside of the op reads: the filled ones, rounded up (llm::kSlotBlock).
  Dim read_positions() {
    if (c_.context <= llm::kSlotBlock) return c_.context;
    if (!filled_) {
      const ValueId blocks =
          b_.expr("floordiv(p + n + (c - 1), c)",
                  {{"p", start_}, {"n", b_.from_dim(count_)}, {"c", static_cast<double>(llm::kSlotBlock)}}, DType::i64);
      const Dim symbol = b_.pool().new_symbol("filled", 1, (c_.context + llm::kSlotBlock - 1) / llm::kSlotBlock);
      b_.add_all(Op::item, {blocks}, {attr(AttrKey::symbols, Dims{symbol})});
      filled_ = b_.pool().min(b_.pool().mul(symbol, llm::kSlotBlock), c_.context);
    }
    return *filled_;
  }

  /// Attention with limited scores, or with a score in each head for no position (a sink).
  ValueId special_attention(ValueId q, ValueId keys, ValueId values, ValueId visible, const std::string& tensors,
                            const std::string& modules) {
    const Dim positions = read_positions(), groups = b_.size(keys, 1);
    const std::int64_t shared = c_.heads / groups.value();
    keys = b_.slice(keys, 2, 0, positions);
    values = b_.slice(values, 2, 0, positions);
    visible = b_.slice(visible, 3, 0, positions);
    // Heads that share keys are rows of one product.
    const ValueId rows = b_.reshape(q, {1, groups, b_.pool().mul(shared, count_), c_.head});
    ValueId scores = b_.matmul(rows, b_.permute(keys, {0, 1, 3, 2}));
    scores = b_.reshape(scores, {1, c_.heads, count_, positions});
    const ValueId scaled =
        c_.attention_cap > 0
            ? b_.expr("cap * tanh(s * scale / cap)",
                      {{"s", scores}, {"scale", c_.attention_scale}, {"cap", c_.attention_cap}}, DType::f32)
            : b_.expr("s * scale", {{"s", scores}, {"scale", c_.attention_scale}}, DType::f32);
    scores = b_.expr("v ? s : hidden", {{"v", visible}, {"s", scaled}, {"hidden", kHidden}}, DType::f32);
    const TensorRecord* sinks = weights_.find(tensors + "attn_sinks.weight");
    if (sinks != nullptr) {
      const TensorRecord& tensor = weights_.require(tensors + "attn_sinks.weight", {c_.heads});
      const ValueId sink = weights_.floats(tensor, modules + "sinks", {c_.heads}, {0, c_.heads});
      scores = b_.concat({scores, b_.expand(b_.reshape(sink, {1, c_.heads, 1, 1}), {1, c_.heads, count_, 1})}, 3);
    }
    ValueId shares = b_.add(Op::softmax, {scores}, {attr(AttrKey::axis, Dim(3)), attr(AttrKey::log, Dim(0))});
    shares = b_.reshape(b_.slice(shares, 3, 0, positions), {1, groups, b_.pool().mul(shared, count_), positions});
    return b_.reshape(b_.matmul(shares, values), {1, c_.heads, count_, c_.head});
  }

  // Feed-forward parts.

  ValueId gated(ValueId gate, ValueId up) {
    switch (c_.architecture->activation) {
      case Activation::silu: return b_.expr("g / (1 + exp(-g)) * u", {{"g", gate}, {"u", up}}, DType::f32);
      case Activation::gelu_tanh:
        return b_.expr("0.5 * g * (1 + tanh(0.79788456080286535588 * (g + 0.044715 * (g * g * g)))) * u",
                       {{"g", gate}, {"u", up}}, DType::f32);
      case Activation::clamped_swiglu:
        return b_.expr("a = min(g, 7); (min(max(u, -7), 7) + 1) * (a * sigmoid(1.702 * a))", {{"g", gate}, {"u", up}},
                       DType::f32);
    }
    fail(ErrorCode::internal, "an activation without formula");
  }

  ValueId feed_forward(ValueId x, const std::string& tensors, const std::string& modules) {
    const std::int64_t rows = weights_.require(tensors + "ffn_up.weight", {-1, c_.width}).sizes[0];
    ValueId gate = kNoValue, up = kNoValue;
    std::int64_t inner = rows;
    if (has_tensor(tensors + "ffn_gate")) {
      gate = linear(x, {tensors + "ffn_gate", modules + "gate_proj"}, rows, c_.width);
      up = linear(x, {tensors + "ffn_up", modules + "up_proj"}, rows, c_.width);
    } else {
      inner = rows / 2;  // the matrix holds both, the gate first
      gate = linear(x, {tensors + "ffn_up", modules + "gate_proj"}, 2 * inner, c_.width, {0, inner});
      up = linear(x, {tensors + "ffn_up", modules + "up_proj"}, 2 * inner, c_.width, {inner, inner});
    }
    return linear(gated(gate, up), {tensors + "ffn_down", modules + "down_proj"}, c_.width, inner);
  }

  /// Rows of the experts' matrices, whose rows `offsets` divides among the experts, plus the bias of each row's expert.
  ValueId expert_product(ValueId rows, ValueId expert, ValueId offsets, const LayerNames& names,
                         std::int64_t output_width, std::int64_t input_width) {
    const TensorRecord& tensor = weights_.require(names.tensor + ".weight", {c_.experts, output_width, input_width});
    enter_module(names.module);
    ValueId weight = weights_.full_tensor(tensor, names.module + ".weight");
    if (!b_.type(weight).quantized()) weight = b_.cast(b_.transpose(weight, 1, 2), DType::f32);
    const ValueId y = b_.add(Op::grouped_matmul, {rows, weight, offsets}, {attr_dtype(DType::f32)});
    if (weights_.find(names.tensor + ".bias") == nullptr) return y;
    const ValueId bias =
        weights_.floats(weights_.require(names.tensor + ".bias", {c_.experts, output_width}), names.module + ".bias",
                        {c_.experts, output_width}, {0, c_.experts * output_width});
    return add(y, b_.index_select(bias, expert, 0));
  }

  /// Each token goes to the experts with its largest scores; their results are added with the softmax of the scores.
  ValueId experts(ValueId x, const std::string& tensors, const std::string& modules) {
    const std::int64_t experts_per_token = c_.used_experts;
    const Dim calls = b_.pool().mul(count_, experts_per_token);
    const ValueId tokens = b_.reshape(x, {count_, c_.width});
    const ValueId scores = linear(tokens, {tensors + "ffn_gate_inp", modules + "router"}, c_.experts, c_.width);
    const std::vector<ValueId> top_experts = b_.add_all(
        Op::topk, {scores},
        {attr(AttrKey::axis, Dim(1)), attr(AttrKey::k, Dim(experts_per_token)), attr(AttrKey::largest, Dim(1))});
    const ValueId shares =
        b_.add(Op::softmax, {top_experts[0]}, {attr(AttrKey::axis, Dim(1)), attr(AttrKey::log, Dim(0))});
    // Calls in the order of experts.
    const auto sorted = [&](ValueId v) {
      return b_.add_all(
          Op::sort, {v},
          {attr(AttrKey::axis, Dim(0)), attr(AttrKey::descending, Dim(0)), attr(AttrKey::stable, Dim(1))});
    };
    const std::vector<ValueId> calls_of = sorted(b_.reshape(top_experts[1], {calls}));
    const ValueId expert = calls_of[0], call = calls_of[1];
    const ValueId token =
        b_.expr("floordiv(c, k)", {{"c", call}, {"k", static_cast<double>(experts_per_token)}}, DType::i64);
    const ValueId rows = b_.index_select(tokens, token, 0);
    const ValueId is_earlier = b_.expr(
        "e <= i",
        {{"e", b_.reshape(expert, {calls, 1})}, {"i", b_.reshape(b_.iota(c_.experts, DType::i64), {1, c_.experts})}},
        DType::i64, DType::i64);
    const ValueId offsets = b_.reduce(is_earlier, "sum", {0}, false, DType::i64);
    const std::int64_t inner = weights_.require(tensors + "ffn_up_exps.weight", {c_.experts, -1, c_.width}).sizes[1];
    const std::string module = modules + "experts.";
    const ValueId gate =
        expert_product(rows, expert, offsets, {tensors + "ffn_gate_exps", module + "gate_proj"}, inner, c_.width);
    const ValueId up =
        expert_product(rows, expert, offsets, {tensors + "ffn_up_exps", module + "up_proj"}, inner, c_.width);
    ValueId y = expert_product(gated(gate, up), expert, offsets, {tensors + "ffn_down_exps", module + "down_proj"},
                               c_.width, inner);
    const ValueId token_order = b_.index_select(y, sorted(call)[1], 0);  // restores the order of tokens
    y = b_.expr("y * s",
                {{"y", b_.reshape(token_order, {count_, experts_per_token, c_.width})},
                 {"s", b_.reshape(shares, {count_, experts_per_token, 1})}},
                DType::f32);
    return b_.reshape(b_.reduce(y, "sum", {1}, false, DType::f32), {1, count_, c_.width});
  }

  ValueId logits(ValueId x, ValueId embedding) {
    ValueId y = kNoValue;
    if (weights_.find("output.weight") != nullptr) {
      y = linear(x, {"output", "lm_head"}, vocabulary_, c_.width);
    } else {
      enter_module("lm_head");
      y = product(x, embedding);
    }
    if (c_.logit_cap == 0) return y;
    return b_.expr("cap * tanh(y / cap)", {{"y", y}, {"cap", c_.logit_cap}}, DType::f32);
  }

  void finish(ValueId logits) {
    for (const char* name : {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})
      weights_.find(name);
    weights_.require_all_read(c_.architecture->name);
    Function& f = b_.function();
    f.name = "forward";
    f.entry = true;
    f.outputs = {{FunctionOutput::Kind::tensor, logits, "logits"}};
  }

  const DecoderConfig& c_;
  Builder b_;
  DecoderWeights weights_;
  Dim count_ = 1;
  std::int64_t vocabulary_ = 0;
  ValueId tokens_ = kNoValue, start_ = kNoValue, positions_ = kNoValue;
  Waves waves_, local_waves_;
  std::map<std::int64_t, ValueId> masks_;  ///< by window
  std::optional<Dim> filled_;
};

}  // namespace

Program decoder_program(const File& file, const DecoderConfig& config) {
  Program program;
  program.functions.emplace_back();
  DecoderProgram(file, config, program).build();
  program.metadata = {{"source", "gguf"}};
  return program;
}

}  // namespace tern::gguf
