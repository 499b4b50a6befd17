// The kernel of the stand-in for cuDNN: a convolution with a bias, summed in double and rounded once.
#include <bit>
#include <cstring>

#include "dtypes/convert.h"
#include "tests/gpu/libraries/convolution_call.h"
#include "tests/gpu/libraries/kernels.h"
#include "tests/gpu/machine/pointer.h"

namespace tern::stand_in {
namespace {

double read(DType dtype, std::uint64_t address, std::int64_t at) {
  double value = 0;
  convert(emulator::pointer<char>(address) + at * element_size(dtype), dtype, &value, DType::f64, 1);
  return value;
}

/// Nearest, ties to even, 10 bits of the fraction.
double to_tf32(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  bits += 0xFFF + ((bits >> 13) & 1);
  return std::bit_cast<float>(bits & ~0x1FFFu);
}

/// Converts element index `i` of a box of `sizes` to its position along each of `count` axes.
void position(std::int64_t i, const std::int64_t* sizes, int count, std::int64_t* at) {
  for (int a = count; a-- > 0; i /= sizes[a]) at[a] = i % sizes[a];
}

std::int64_t volume(const std::int64_t* sizes, int count) {
  std::int64_t n = 1;
  for (int a = 0; a < count; ++a) n *= sizes[a];
  return n;
}

double sum(const ConvolutionCall& c, const std::int64_t* y) {
  const std::int64_t depth = c.w.sizes[1];
  const std::int64_t group = y[1] / (c.w.sizes[0] / (c.x.sizes[1] / depth));
  const std::int64_t window = volume(c.w.sizes + 2, c.axes);
  double total = 0;
  for (std::int64_t i = 0; i < window; ++i) {
    std::int64_t k[3];
    position(i, c.w.sizes + 2, c.axes, k);
    std::int64_t x_at = y[0] * c.x.strides[0];
    std::int64_t w_at = y[1] * c.w.strides[0];
    bool inside = true;
    for (int a = 0; a < c.axes; ++a) {
      const std::int64_t at = y[a + 2] * c.strides[a] - c.padding_before[a] + k[a] * c.dilations[a];
      inside = inside && at >= 0 && at < c.x.sizes[a + 2];
      x_at += at * c.x.strides[a + 2];
      w_at += k[a] * c.w.strides[a + 2];
    }
    for (std::int64_t d = 0; inside && d < depth; ++d) {
      double x = read(c.dtype, c.x.address, x_at + (group * depth + d) * c.x.strides[1]);
      double w = read(c.dtype, c.w.address, w_at + d * c.w.strides[1]);
      if (c.rounds) x = to_tf32(x), w = to_tf32(w);
      total += x * w;
    }
  }
  return total;
}

}  // namespace

void convolution(const tern_emulated_launch* launch) {
  ConvolutionCall c;
  std::memcpy(&c, launch->parameters, sizeof c);
  if (c.workspace != 0) std::memset(emulator::pointer(c.workspace), 0xA5, c.workspace_bytes);
  const std::int64_t count = volume(c.y.sizes, c.axes + 2);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t y[kMostAxes];
    position(i, c.y.sizes, c.axes + 2, y);
    std::int64_t at = 0;
    for (int a = 0; a < c.axes + 2; ++a) at += y[a] * c.y.strides[a];
    double value = sum(c, y) + (c.bias == 0 ? 0 : read(c.dtype, c.bias, y[1]));
    if (c.has_relu && (value < 0 || (value != value && !c.keeps_nan))) value = 0;
    convert(&value, DType::f64, emulator::pointer<char>(c.y.address) + at * element_size(c.dtype), c.dtype, 1);
  }
}

}  // namespace tern::stand_in
