#include "exporter/gradients/operator_slopes.h"

#include <algorithm>
#include <span>
#include <string>

namespace tern {
namespace {

// Beginnings of names.
constexpr std::string_view kStrict[] = {"aten.relu",
                                        "aten.hardtanh",
                                        "aten.hardsigmoid",
                                        "aten.hardswish",
                                        "aten._add_relu",
                                        "aten._addmm_activation",
                                        "aten.rnn_relu",
                                        "aten.multi_margin",
                                        "aten.multilabel_margin",
                                        "aten.linalg_matrix_sqrth"};
constexpr std::string_view kSplitTies[] = {
    "aten.log_sigmoid", "aten.logaddexp", "aten.binary_cross_entropy_with_logits", "aten.maximum", "aten.minimum",
    "aten.max",         "aten.min"};
constexpr std::string_view kClamps[] = {"aten.clamp", "aten.clip"};
constexpr std::string_view kFlat[] = {"aten.linalg_vector_norm",
                                      "aten.linalg_norm",
                                      "aten.linalg_matrix_norm",
                                      "aten.frobenius_norm",
                                      "aten.norm",
                                      "aten.renorm",
                                      "aten.dist",
                                      "aten.pairwise_distance",
                                      "aten.cosine_similarity",
                                      "aten.std"};
constexpr std::string_view kNoFormula[] = {"aten._fake_quantize_learnable_"};
constexpr OperatorSlope kOperatorSlopesSlopes[] = {
    {"aten.special_entr", Scalar::where, Scalar::log, "-log(x) - 1", ""},
    {"aten.xlogy", Scalar::where, Scalar::log, "f / x", "f == 0 && x <= 0 ? 0 : log(x)"},
    {"aten.special_xlogy", Scalar::where, Scalar::log, "f / x", "f == 0 && x <= 0 ? 0 : log(x)"},
    {"aten.special_xlog1py", Scalar::where, Scalar::log1p, "f / (x + 1)", "f == 0 && x <= -1 ? 0 : log1p(x)"},
    // PyTorch clamps the logarithms at -100, not the derivative.
    {"aten.binary_cross_entropy.", Scalar::sub, Scalar::log, "(x - f) / max((1 - x) * x, 1e-12)", "log1p(-x) - log(x)"},
};

/// "aten.clamp_max.Scalar" for "aten._foreach_clamp_max.Scalar".
std::string single_tensor_name(std::string_view op) {
  constexpr std::string_view list = "aten._foreach_";
  return op.starts_with(list) ? "aten." + std::string(op.substr(list.size())) : std::string(op);
}

bool begins_with_one_of(std::string_view op, std::span<const std::string_view> prefixes) {
  const std::string name = single_tensor_name(op);
  return std::ranges::any_of(prefixes, [&](std::string_view b) { return name.starts_with(b); });
}

}  // namespace

Ties ties_of(std::string_view op, bool fixed) {
  if (!fixed) return begins_with_one_of(op, kClamps) ? Ties::inclusive : Ties::split;
  if (begins_with_one_of(op, kStrict)) return Ties::strict;
  return begins_with_one_of(op, kSplitTies) ? Ties::split : Ties::inclusive;
}

bool is_flat_at_zero(std::string_view op) {
  return begins_with_one_of(op, kFlat);
}

bool has_no_formula(std::string_view op) {
  return begins_with_one_of(op, kNoFormula);
}

const OperatorSlope* find_operator_slope(std::string_view op) {
  const auto* found =
      std::ranges::find_if(kOperatorSlopesSlopes, [&](const OperatorSlope& s) { return op.starts_with(s.op); });
  return found == std::end(kOperatorSlopesSlopes) ? nullptr : found;
}

}  // namespace tern
