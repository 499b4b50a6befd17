#include "exporter/gradients/operator_slopes.h"

#include <algorithm>
#include <span>

namespace tern {
namespace {

// Beginnings of names.
constexpr std::string_view kInclusive[] = {"aten.clamp", "aten.clip"};
constexpr std::string_view kSplit[] = {"aten.log_sigmoid", "aten.logaddexp", "aten.maximum",
                                       "aten.minimum",     "aten.max",       "aten.min"};
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
constexpr OperatorSlope kSlopes[] = {
    {"aten.special_entr", "-log(a) - 1", ""},
    {"aten.xlogy", "a == 0 && b <= 0 ? 0 : log(b)", "a / b"},
    {"aten.special_xlogy", "a == 0 && b <= 0 ? 0 : log(b)", "a / b"},
    {"aten.special_xlog1py", "a == 0 && b <= -1 ? 0 : log1p(b)", "a / (b + 1)"},
};

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return text.starts_with(name); });
}

}  // namespace

Ties ties_of(std::string_view op) {
  if (begins_with_one_of(op, kInclusive)) return Ties::inclusive;
  return begins_with_one_of(op, kSplit) ? Ties::split : Ties::strict;
}

bool is_flat_at_zero(std::string_view op) {
  return begins_with_one_of(op, kFlat);
}

const OperatorSlope* find_operator_slope(std::string_view op) {
  const auto* found = std::ranges::find_if(kSlopes, [&](const OperatorSlope& s) { return op.starts_with(s.op); });
  return found == std::end(kSlopes) ? nullptr : found;
}

}  // namespace tern
