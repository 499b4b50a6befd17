#include "schema/ops/costs.h"

#include <algorithm>
#include <cmath>

#include "schema/program.h"

namespace tern::ops {
namespace {

double elements(OperandSizes sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return static_cast<double>(n);
}

double last(OperandSizes sizes, std::size_t from_end) {
  return sizes.size() < from_end ? 1 : static_cast<double>(sizes[sizes.size() - from_end]);
}

/// Comparisons that put `n` elements in order.
double comparisons_of_sort(double n) {
  return n > 1 ? n * std::log2(n) : 0;
}

/// Number of lines of `length` elements.
double lines_of(OperandSizes sizes, double length) {
  return length > 0 ? elements(sizes) / length : 0;
}

double axis_length(const Node& node, OperandSizes sizes) {
  if (sizes.empty()) return 1;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const std::int64_t axis = node.integer(AttrKey::axis);
  return static_cast<double>(sizes[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
}

/// Products with a triangular or factored matrix `a`: each column of the other operand meets each element of `a` once.
double triangle_products(OperandSizes a, double result_elements) {
  return result_elements * last(a, 1);
}

}  // namespace

double matmul_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes> results) {
  return 2 * elements(results[0]) * last(operands[0], 1);
}

double convolution_operations(const Node& node, std::span<const OperandSizes> operands,
                              std::span<const OperandSizes> results) {
  // Each element of the result (of the input, if transposed) meets the weights of one output channel.
  const bool transposed = node.integer(AttrKey::transposed) != 0;
  const double channels = static_cast<double>(transposed ? operands[0][1] : operands[1][0]);
  return channels == 0 ? 0 : 2 * elements(transposed ? operands[0] : results[0]) * elements(operands[1]) / channels;
}

double attention_operations(const Node&, std::span<const OperandSizes> operands,
                            std::span<const OperandSizes> results) {
  return 2 * elements(results[0]) * last(operands[1], 2) *
         (1 + last(operands[0], 1) / std::max(1.0, last(results[0], 1)));
}

double pointwise_operations(const Node& node, std::span<const OperandSizes>, std::span<const OperandSizes> results) {
  return elements(results[0]) * static_cast<double>(node.expr.code.size());
}

double rnn_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes> results) {
  // Each weight matrix meets every step of every sequence once; results have one row for each.
  double weights = 0;
  for (const OperandSizes operand : operands.subspan(std::min<std::size_t>(3, operands.size()))) {
    if (operand.size() == 2) weights += elements(operand);
  }
  return 2 * weights * last(results[0], 3) * last(results[0], 2);
}

double cdist_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes> results) {
  return 3 * elements(results[0]) * last(operands[0], 1);
}

double sort_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes>) {
  const double length = axis_length(node, operands[0]);
  return lines_of(operands[0], length) * comparisons_of_sort(length);
}

double topk_operations(const Node& node, std::span<const OperandSizes> operands,
                       std::span<const OperandSizes> results) {
  // Selection compares each element once; then only the selected elements are put in order.
  const double length = axis_length(node, operands[0]);
  return elements(operands[0]) + lines_of(operands[0], length) * comparisons_of_sort(axis_length(node, results[0]));
}

double scan_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes>) {
  return elements(operands[0]);
}

double fft_operations(const Node& node, std::span<const OperandSizes> operands, std::span<const OperandSizes> results) {
  // 5 n log2(n) for each complex line, as FFTW counts; half of that if one side is real (last axis halved or grown).
  const OperandSizes& longer_side = elements(operands[0]) < elements(results[0]) ? results[0] : operands[0];
  double points = 1;
  for (const Dim axis_number : node.dims(AttrKey::axes)) {
    const std::int64_t axis = axis_number.value();
    const auto rank = static_cast<std::int64_t>(longer_side.size());
    points *= static_cast<double>(longer_side[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
  }
  const double complex_cost = points > 1 ? 5 * elements(longer_side) * std::log2(points) : 0;
  return elements(operands[0]) == elements(results[0]) ? complex_cost : complex_cost / 2;
}

double cholesky_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes>) {
  return elements(operands[0]) * last(operands[0], 1) / 3;
}

double qr_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes>) {
  // 2 m n^2 - 2 n^3 / 3 with m >= n (Golub and Van Loan): reflections alone, without q.
  const double m = last(operands[0], 2), n = last(operands[0], 1), low = std::min(m, n), high = std::max(m, n);
  return lines_of(operands[0], m * n) * (2 * high * low * low - 2 * low * low * low / 3);
}

double lu_factor_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes>) {
  const double m = last(operands[0], 2), n = last(operands[0], 1), low = std::min(m, n), high = std::max(m, n);
  return lines_of(operands[0], m * n) * (high * low * low - low * low * low / 3);
}

double lu_solve_operations(const Node&, std::span<const OperandSizes> operands, std::span<const OperandSizes> results) {
  return 2 * triangle_products(operands[0], elements(results[0]));
}

double triangular_solve_operations(const Node&, std::span<const OperandSizes> operands,
                                   std::span<const OperandSizes> results) {
  return triangle_products(operands[0], elements(results[0]));
}

}  // namespace tern::ops
