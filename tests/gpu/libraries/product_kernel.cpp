// The kernel of the stand-ins for cuBLASLt and hipBLASLt: D = alpha op(A) op(B) + beta C + bias, summed in double and
// rounded once. Runs in stream order.
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "dtypes/convert.h"
#include "tests/gpu/libraries/kernels.h"
#include "tests/gpu/libraries/product_call.h"
#include "tests/gpu/machine/pointer.h"

namespace {

using namespace tern;
using namespace tern::stand_in;
using emulator::pointer;

/// Rounds a float32 operand like tensor cores: nearest, ties to even, `kept` bits of the fraction.
double rounded(double value, int kept) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const int dropped = 23 - kept;
  bits += ((1u << (dropped - 1)) - 1) + ((bits >> dropped) & 1);
  bits &= ~((1u << dropped) - 1);
  return std::bit_cast<float>(bits);
}

void round_all(std::vector<double>& values, Rounding rounding) {
  if (rounding == Rounding::none) return;
  for (double& v : values) v = rounded(v, rounding == Rounding::bfloat16 ? 7 : 10);
}

void round_to(std::vector<double>& values, DType dtype) {
  std::vector<std::byte> made(values.size() * sizeof(double));
  const auto count = static_cast<std::int64_t>(values.size());
  convert(values.data(), DType::f64, made.data(), dtype, count);
  convert(made.data(), dtype, values.data(), DType::f64, count);
}

std::vector<double> read(DType dtype, std::uint64_t address, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  convert(pointer<const void>(address), dtype, values.data(), DType::f64, count);
  return values;
}

std::uint64_t column_address(const MatrixCall& m, std::int64_t batch, std::int64_t column) {
  return m.address + static_cast<std::uint64_t>((batch * m.batch_offset + column * m.leading) * element_size(m.dtype));
}

/// op(m) with contiguous columns.
std::vector<double> read(const MatrixCall& m, std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  std::vector<double> all;
  if (!m.transposed) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::vector<double> column = read(m.dtype, column_address(m, batch, j), rows);
      all.insert(all.end(), column.begin(), column.end());
    }
    return all;
  }
  all.resize(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::vector<double> row = read(m.dtype, column_address(m, batch, i), columns);
    for (std::int64_t j = 0; j < columns; ++j)
      all[static_cast<std::size_t>(j * rows + i)] = row[static_cast<std::size_t>(j)];
  }
  return all;
}

/// GELU of NVIDIA and AMD uses tanh.
double activated(double x, std::uint32_t activation) {
  if (activation == 2) return x > 0 || x != x ? x : 0;
  if (activation == 32) return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x;
}

/// Multiplies op(m)^T, with contiguous rows of `k` elements, by the scales of its blocks. "Scaling factors [...] are
/// stored in tiles of 128x4": a tile has four scales each of rows 0, 32, 64 and 96, then of rows 1, 33, 65 and 97, and
/// so on; tiles follow each other along the rows first.
void scale_blocks(std::uint64_t scales, std::int64_t rows, std::int64_t k, bool rows_last,
                  std::vector<double>* values) {
  const auto* bytes = pointer<const std::uint8_t>(scales);
  const std::int64_t blocks = k / 32, tiles = (blocks + 3) / 4;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t l = 0; l < k; ++l) {
      const std::int64_t outer = r % 128, inner = l / 32 % 4;
      const std::int64_t at = (r / 128 * tiles + l / 32 / 4) * 512 + outer % 32 * 16 + outer / 32 * 4 + inner;
      const double scale = bytes[at] == 255 ? std::nan("") : std::ldexp(1.0, bytes[at] - 127);
      (*values)[static_cast<std::size_t>(rows_last ? r * k + l : l * rows + r)] *= scale;
    }
  }
}

/// "each (i, j)-th element of product of A and B is multiplied by i-th element of A scale and j-th element of B scale"
void scale(const ProductCall& p, std::int64_t column, std::vector<double>* sums) {
  const std::vector<double> a = read(DType::f32, p.scale_a, p.scales_rows ? p.m : 1);
  const std::vector<double> b = read(DType::f32, p.scale_b, p.scales_rows ? p.n : 1);
  for (std::size_t i = 0; i < sums->size(); ++i)
    (*sums)[i] *= a[p.scales_rows ? i : 0] * b[p.scales_rows ? static_cast<std::size_t>(column) : 0];
}

void multiply(const ProductCall& p, std::int64_t batch, const std::vector<double>& bias) {
  std::vector<double> a = read(p.a, batch, p.m, p.k), b = read(p.b, batch, p.k, p.n);
  round_all(a, p.rounding);
  round_all(b, p.rounding);
  if (p.scales_blocks) {
    scale_blocks(p.scale_a, p.m, p.k, false, &a);
    scale_blocks(p.scale_b, p.n, p.k, true, &b);
  }
  for (std::int64_t j = 0; j < p.n; ++j) {
    std::vector<double> sums(static_cast<std::size_t>(p.m));
    for (std::int64_t l = 0; l < p.k; ++l) {
      if (p.splits && l == p.k / 2) round_to(sums, p.d.dtype);
      const double factor = b[static_cast<std::size_t>(j * p.k + l)];
      const double* column = a.data() + l * p.m;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += column[i] * factor;
    }
    // C is read only if beta is not 0: C may be NaN.
    std::vector<double> added(sums.size());
    if (p.beta != 0) added = read(p.c.dtype, column_address(p.c, batch, j), p.m);
    if (p.scale_a != 0 && !p.scales_blocks) scale(p, j, &sums);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = p.alpha * sums[i] + p.beta * added[i] + (bias.empty() ? 0 : bias[i]);
      sums[i] = activated(sums[i], p.activation);
      if (p.single) sums[i] = static_cast<float>(sums[i]);
    }
    convert(sums.data(), DType::f64, pointer<void>(column_address(p.d, batch, j)), p.d.dtype, p.m);
  }
}

}  // namespace

void tern::stand_in::product(const tern_emulated_launch* launch) {
  ProductCall p;
  std::memcpy(&p, launch->parameters, sizeof p);
  // Overwrites the workspace: callers must not rely on its contents.
  if (p.workspace != 0) std::memset(pointer(p.workspace), 0xA5, p.workspace_bytes);
  std::vector<double> bias;
  if (p.bias != 0) bias = read(p.d.dtype, p.bias, p.m);
  for (std::int64_t batch = 0; batch < p.batch; ++batch) multiply(p, batch, bias);
}
