// MX values: packed from elements and scales, and back to numbers.
#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

/// The numbers of an MX value of `rows` x `columns` elements given as codes, with every scale's code.
std::vector<Number> packed_and_dequantized(DType element, std::int64_t rows, std::int64_t columns, ScaleLayout layout,
                                           std::vector<std::uint8_t> codes, std::vector<std::uint8_t> scales) {
  const QuantizedMatrix m{element, rows, columns, {.columns = 32, .layout = layout}};
  std::vector<std::byte> bytes(codes.size() + scales.size());
  EXPECT_EQ(static_cast<std::int64_t>(bytes.size()), m.bytes());
  const auto view = [&](DType dtype, void* data) {
    TensorView v;
    v.dtype = dtype;
    v.rank = 2;
    v.sizes = {rows, columns};
    make_contiguous(v);
    v.data = static_cast<std::byte*>(data);
    return v;
  };
  const auto run = [](Op op, std::span<TensorView> in, TensorView out) {
    Node node;
    node.op = op;
    KernelCall call;
    call.node = &node;
    call.in = in;
    call.out = {&out, 1};
    cpu_kernels().kernels[static_cast<std::size_t>(op)].run(call);
  };
  TensorView value = view(element, bytes.data());
  value.blocks = m.blocks;
  TensorView in[] = {view(element, codes.data()), view(DType::f8_e8m0, scales.data())};
  run(Op::mx_pack, in, value);
  std::vector<double> numbers(static_cast<std::size_t>(rows * columns));
  run(Op::dequantize, {&value, 1}, view(DType::f64, numbers.data()));
  return {numbers.begin(), numbers.end()};
}

TEST(MxValues, Float8WithOneScaleForEachBlock) {
  // 0x38 is 1 and 0xc0 is -2 in e4m3; scale codes 127 + k are 2^k.
  std::vector<std::uint8_t> codes(2 * 64, 0x38);
  codes[0] = 0xc0;
  const auto v = packed_and_dequantized(DType::f8_e4m3fn, 2, 64, ScaleLayout::plain, codes, {127, 128, 126, 130});
  EXPECT_EQ(v[0].real(), -2);
  EXPECT_EQ(v[1].real(), 1);
  EXPECT_EQ(v[32].real(), 2);
  EXPECT_EQ(v[64].real(), 0.5);
  EXPECT_EQ(v[127].real(), 8);
}

TEST(MxValues, Float4WithScalesInTiles) {
  // Two elements per byte, the even element low: 2 is 1.0, 0xf is -6.0.
  const std::vector<std::uint8_t> codes(33 * 32, 0xf2);
  std::vector<std::uint8_t> scales(512, 0);
  // The scale of row r, block c of a 128 x 4 tile is byte (r % 32) * 16 + (r / 32) * 4 + c.
  for (int r = 0; r < 33; ++r) {
    for (int c = 0; c < 2; ++c) {
      scales[static_cast<std::size_t>(r % 32 * 16 + r / 32 * 4 + c)] = static_cast<std::uint8_t>(127 + r % 4 + 4 * c);
    }
  }
  const auto v = packed_and_dequantized(DType::f4_e2m1, 33, 64, ScaleLayout::swizzled_32_4_4, codes, scales);
  for (int r = 0; r < 33; ++r) {
    EXPECT_EQ(v[static_cast<std::size_t>(r * 64)].real(), std::ldexp(1.0, r % 4));
    EXPECT_EQ(v[static_cast<std::size_t>(r * 64 + 33)].real(), std::ldexp(-6.0, r % 4 + 4));
  }
}

}  // namespace
}  // namespace tern::test
