// MX values: packed from elements and scales, and back to numbers.
#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

/// Bytes of an MX value of `rows` x `columns` elements given as codes, with every scale's code given by `scale`.
std::vector<Number> dequantized(DType element, std::int64_t rows, std::int64_t columns, ScaleLayout layout,
                                const std::vector<std::uint8_t>& codes, std::vector<std::uint8_t> scales) {
  std::vector<std::byte> value;
  {
    Node node;
    node.op = Op::mx_pack;
    node.set(AttrKey::block, Dims{32});
    node.set(AttrKey::layout, Dims{static_cast<std::int64_t>(layout)});
    std::vector<std::uint8_t> elements = codes;
    TensorView in[2], out;
    in[0].dtype = element;
    in[0].data = reinterpret_cast<std::byte*>(elements.data());
    in[1].dtype = DType::f8_e8m0;
    in[1].data = reinterpret_cast<std::byte*>(scales.data());
    out.dtype = element;
    out.rank = 2;
    out.sizes = {rows, columns};
    value.resize(codes.size() + scales.size());
    out.data = value.data();
    KernelCall call;
    call.node = &node;
    call.in = in;
    call.out = {&out, 1};
    cpu_kernels().kernels[static_cast<std::size_t>(Op::mx_pack)].run(call);
  }
  Node node;
  node.op = Op::mx_dequantize;
  node.set(AttrKey::block, Dims{32});
  node.set(AttrKey::layout, Dims{static_cast<std::int64_t>(layout)});
  TensorView in, out;
  in.dtype = element;
  in.rank = 2;
  in.sizes = {rows, columns};
  in.data = value.data();
  std::vector<double> numbers(static_cast<std::size_t>(rows * columns));
  out.dtype = DType::f64;
  out.rank = 2;
  out.sizes = in.sizes;
  make_contiguous(out);
  out.data = reinterpret_cast<std::byte*>(numbers.data());
  KernelCall call;
  call.node = &node;
  call.in = {&in, 1};
  call.out = {&out, 1};
  cpu_kernels().kernels[static_cast<std::size_t>(Op::mx_dequantize)].run(call);
  return {numbers.begin(), numbers.end()};
}

TEST(MxValues, Float8WithOneScaleForEachBlock) {
  // 0x38 is 1 and 0xc0 is -2 in e4m3; scale codes 127 + k are 2^k.
  std::vector<std::uint8_t> codes(2 * 64, 0x38);
  codes[0] = 0xc0;
  const auto v = dequantized(DType::f8_e4m3fn, 2, 64, ScaleLayout::plain, codes, {127, 128, 126, 130});
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
  const auto v = dequantized(DType::f4_e2m1, 33, 64, ScaleLayout::swizzled_32_4_4, codes, scales);
  for (int r = 0; r < 33; ++r) {
    EXPECT_EQ(v[static_cast<std::size_t>(r * 64)].real(), std::ldexp(1.0, r % 4));
    EXPECT_EQ(v[static_cast<std::size_t>(r * 64 + 33)].real(), std::ldexp(-6.0, r % 4 + 4));
  }
}

}  // namespace
}  // namespace tern::test
