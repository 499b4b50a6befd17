// Window functions of signal processing.
#include <fmt/format.h>

#include <array>

#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

/// Evaluates `text` over the positions `n` = 0.. and `last`, the window's last position. A periodic window is the next
/// longer symmetric window without its last point; a window of one point is 1.
Values window(Builder& b, const Call& c, std::string_view text, std::vector<ExprArg> parameters = {}) {
  const std::int64_t length = c.integer("window_length");
  if (length < 0) c.unsupported(fmt::format("window_length is {}; it must not be negative", length));
  const DType t = c.result_dtype();
  if (length <= 1) return {b.full({length}, 1.0, t)};
  const bool periodic = c.args.size() > 1 && c.args[1].first == "periodic" ? c.flag("periodic") : true;
  const DType compute_dtype = t == DType::f64 ? DType::f64 : DType::f32;
  parameters.push_back({"n", b.iota(length, compute_dtype)});
  parameters.push_back({"last", static_cast<double>(periodic ? length : length - 1)});
  return {b.expr(text, std::move(parameters), compute_dtype, t)};
}

Values hann(Builder& b, const Call& c) {
  return window(b, c, "0.5 - 0.5 * cos(n * (2 * pi / last))");
}
Values hamming(Builder& b, const Call& c) {
  const bool has_parameter = c.args.size() > 2 && c.args[2].first == "alpha";
  const bool has_beta = c.args.size() > 3 && c.args[3].first == "beta";
  return window(b, c, "alpha - beta * cos(n * (2 * pi / last))",
                {{"alpha", has_parameter ? c.number("alpha") : 0.54}, {"beta", has_beta ? c.number("beta") : 0.46}});
}
Values blackman(Builder& b, const Call& c) {
  return window(b, c, "0.42 - 0.5 * cos(n * (2 * pi / last)) + 0.08 * cos(n * (4 * pi / last))");
}
Values bartlett(Builder& b, const Call& c) {
  return window(b, c, "n * 2 < last ? n * (2 / last) : 2 - n * (2 / last)");
}
Values kaiser(Builder& b, const Call& c) {
  const bool has_parameter = c.args.size() > 2 && c.args[2].first == "beta";
  return window(b, c, "x = n * (2 / last) - 1; i0(beta * sqrt(max(1 - x * x, 0))) / i0(beta + 0 * x)",
                {{"beta", has_parameter ? c.number("beta") : 12.0}});
}

constexpr std::array kSignalWindowsLowerings = {
    Lowering{"aten.hann_window.default", hann},
    Lowering{"aten.hann_window.periodic", hann},
    Lowering{"aten.hamming_window.default", hamming},
    Lowering{"aten.hamming_window.periodic", hamming},
    Lowering{"aten.hamming_window.periodic_alpha", hamming},
    Lowering{"aten.hamming_window.periodic_alpha_beta", hamming},
    Lowering{"aten.blackman_window.default", blackman},
    Lowering{"aten.blackman_window.periodic", blackman},
    Lowering{"aten.bartlett_window.default", bartlett},
    Lowering{"aten.bartlett_window.periodic", bartlett},
    Lowering{"aten.kaiser_window.default", kaiser},
    Lowering{"aten.kaiser_window.periodic", kaiser},
    Lowering{"aten.kaiser_window.beta", kaiser},
};

}  // namespace

std::span<const Lowering> window_lowerings() {
  return kSignalWindowsLowerings;
}

}  // namespace tern
