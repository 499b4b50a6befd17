// Activations that runs quantize: torchao's bits, and the products of such numbers.
#include "exporter/passes/quantize/activations.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "exporter/passes/passes.h"
#include "exporter/passes/quantize/matrix.h"
#include "tests/exporter/passes/quantize/goldens.h"
#include "tests/exporter/passes/quantize/numbers.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern::quantize {
namespace {

using namespace testing;
using Floats = std::vector<float>;

MxScales mode_of(std::string_view name) {
  return name == "even" ? MxScales::even : name == "ceil" ? MxScales::ceil : MxScales::floor;
}

/// NaN has a single code, as in make.py.
std::uint32_t crc_of(std::uint32_t crc, Tensor t) {
  const DType type = t.dtype();
  const auto size = static_cast<std::size_t>(element_size(type));
  auto* const bytes = static_cast<std::byte*>(t.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.numel()); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes + i * size, size);
    const GoldenBits b = golden_bits(type);
    if (type == DType::f8_e4m3fn ? bits == 0xff : (bits & ~b.sign) > b.infinity)
      std::memcpy(bytes + i * size, type == DType::f8_e4m3fn ? "\x7f" : reinterpret_cast<const char*>(&b.quiet), size);
  }
  return static_cast<std::uint32_t>(
      crc32(crc, reinterpret_cast<const Bytef*>(bytes), static_cast<uInt>(t.numel() * element_size(type))));
}

constexpr std::string_view kActivationsSets[] = {"near", "spread", "codes", "ties", "tiny", "zeros", "nan", "infinite"};

class ActivationGoldens : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ActivationGoldens, BitsOfTorchao) {
  const std::string_view set = GetParam();
  const auto number =
      static_cast<std::uint64_t>(std::ranges::find(kActivationsSets, set) - std::begin(kActivationsSets));
  int tested = 0;
  for (const QuantizeGolden& g : kActivationGoldens) {
    if (set != g.set) continue;
    const DType type = dtype_from_name(g.type);
    const Format* const weight = find_format(g.format);
    ASSERT_NE(weight, nullptr) << g.format;
    TestProgram p;
    const ValueId x = p.input(type, {kGoldenRows, kGoldenColumns});
    if (weight->activations == Activations::float8) {
      const QuantizedRows rows = quantize_rows(p.b(), x, Activations::float8);
      p.output(rows.elements);
      p.output(rows.scales);
    } else {
      p.output(microscaled(p.b(), x, activation_element(*weight), mode_of(g.mode)));
    }
    Tensor in(type, {kGoldenRows, kGoldenColumns});
    std::ranges::copy(golden_numbers(type, set, number), static_cast<std::byte*>(in.data()));
    std::uint32_t crc = 0;
    Session session(p.model().prepare());
    for (const Tensor& t : session.run({in})) crc = crc_of(crc, t.contiguous());
    EXPECT_EQ(crc, g.crc) << g.format << " " << g.mode << " " << g.type;
    ++tested;
  }
  EXPECT_GE(tested, 28);
}

INSTANTIATE_TEST_SUITE_P(Sets, ActivationGoldens, ::testing::ValuesIn(kActivationsSets),
                         [](const auto& i) { return std::string(i.param); });

QuantizeRule rule(const Format& f) {
  return {{.format = &f, .block = f.block, .activations = f.activations, .rule = ScaleRule::torchao}, {}};
}

constexpr std::int64_t kRows = 3, kColumns = 96, kOut = 48;

Floats quantized_numbers(const Floats& w, std::int64_t rows, std::int64_t columns, const Format& f) {
  const Quantized q = quantize({reinterpret_cast<const std::byte*>(w.data()), DType::f32, rows, columns, columns, 1},
                               {.format = &f, .block = f.block, .rule = ScaleRule::torchao});
  const QuantizedMatrix m{f.element, rows, columns, q.blocks};
  Floats y(w.size());
  for (std::int64_t r = 0; r < rows; ++r) dequantize_row(m, q.bytes.data(), r, 0, columns, y.data() + r * columns);
  return y;
}

/// The quantized values of float32 activations beside a weight: weights of the same format round alike.
Floats activation_numbers(const Floats& x, const Format& weight) {
  const bool mx = weight.activations == Activations::mx && weight.scheme != Scheme::microscaling;
  return quantized_numbers(x, kRows, kColumns, mx ? *find_format("mxfp8_e4m3") : weight);
}

/// x W^T + b, twice.
struct Linear {
  TestProgram p;
  Floats x = test::random_floats(kRows * kColumns, 1), w = test::random_floats(kOut * kColumns, 2),
         bias = test::random_floats(kOut, 3);
  Linear() {
    const ValueId in = p.input(DType::f32, {kRows, kColumns});
    const ValueId weight = p.b().constant(DType::f32, {kOut, kColumns}, w.data());
    const ValueId b = p.b().constant(DType::f32, {kOut}, bias.data());
    for (int i = 0; i < 2; ++i)
      p.output(p.b().add(Op::matmul, {in, p.b().transpose(weight, 0, 1), b}, {attr_dtype(DType::f32)}));
  }
};

TEST(QuantizeActivations, ProductsAreThoseOfTheQuantizedNumbers) {
  for (const Format& f : formats()) {
    if (f.activations == Activations::int8) continue;  // quantize_test.cpp
    SCOPED_TRACE(f.name);
    Linear m;
    ASSERT_EQ(quantize_weights(m.p.program(), {rule(f)}, {}).weights.size(), 1u);
    const std::vector<Node>& nodes = m.p.program().functions[0].nodes;
    EXPECT_EQ(std::ranges::count(nodes, Op::reduce, &Node::op), 1) << "both products read the same activations";
    const Floats x = activation_numbers(m.x, f), w = quantized_numbers(m.w, kOut, kColumns, f);
    Session s(m.p.model().prepare());
    for (const Tensor& y : s.run({floats({kRows, kColumns}, m.x)})) {
      for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < kOut; ++j) {
          double sum = static_cast<double>(m.bias[j]), size = 1;
          for (std::size_t k = 0; k < kColumns; ++k) {
            const double product = static_cast<double>(x[i * kColumns + k]) * static_cast<double>(w[j * kColumns + k]);
            sum += product;
            size += std::abs(product);
          }
          ASSERT_NEAR(static_cast<double>(y.span<float>()[i * kOut + j]), sum, size * 1e-6) << i << ", " << j;
        }
      }
    }
  }
}

TEST(QuantizeActivations, ProductsOfFloat8ReadTheWeightsElements) {
  Linear m;
  quantize_weights(m.p.program(), {rule(*find_format("float8"))}, {});
  const Function& f = m.p.program().functions[0];
  for (const Node& n : f.nodes) {
    if (n.op != Op::matmul) continue;
    for (const ValueId v : n.inputs) EXPECT_EQ(f.values[static_cast<std::size_t>(v)].type.dtype, DType::f8_e4m3fn);
  }
  for (const State& s : m.p.program().states) EXPECT_FALSE(s.type.quantized());
}

TEST(QuantizeActivations, RowsOfZerosStayZeros) {
  for (const Format& f : formats()) {
    Linear m;
    quantize_weights(m.p.program(), {rule(f)}, {});
    Session s(m.p.model().prepare());
    const Tensor y = s.run({floats({kRows, kColumns}, Floats(kRows * kColumns))})[0];
    for (std::size_t i = 0; i < kRows * kOut; ++i) EXPECT_EQ(y.span<float>()[i], m.bias[i % kOut]) << f.name;
  }
}

/// Half of the values of MX blocks lie below the smallest float16.
TEST(QuantizeActivations, Float16GivesFloat32) {
  TestProgram p;
  const ValueId y = microscaled(p.b(), p.input(DType::f16, {2, 64}), DType::f8_e5m2, MxScales::floor);
  EXPECT_EQ(p.b().dtype(y), DType::f32);
}

TEST(QuantizeActivations, ExpertsAndBatchesAreMicroscaled) {
  const Format& f = *find_format("mxfp8_e4m3");
  const Floats w = test::random_floats(2 * kOut * kColumns, 2);
  TestProgram p;
  const ValueId weight = p.b().transpose(p.b().constant(DType::f32, {2, kOut, kColumns}, w.data()), 1, 2);
  p.output(p.b().matmul(p.input(DType::f32, {2, kRows, kColumns}), weight));
  p.output(p.b().add(Op::grouped_matmul, {p.input(DType::f32, {kRows, kColumns}), weight, p.input(DType::i32, {2})},
                     {attr_dtype(DType::f32)}));
  ASSERT_EQ(quantize_weights(p.program(), {rule(f)}, {}).weights.size(), 1u);
  const std::vector<Node>& nodes = p.program().functions[0].nodes;
  EXPECT_EQ(std::ranges::count(nodes, Op::reduce, &Node::op), 2);
  for (const State& s : p.program().states) EXPECT_TRUE(s.type.quantized());
}

TEST(QuantizeActivations, AWeightWhoseRowsHaveNoWholeBlocksStays) {
  constexpr std::int64_t kShort = 48;  // three blocks of nvfp4
  const Format& f = *find_format("nvfp4");
  for (const bool activations : {false, true}) {
    const Floats w = test::random_floats(kOut * kShort, 2);
    TestProgram p;
    const ValueId weight = p.b().constant(DType::f32, {kOut, kShort}, w.data());
    p.program().states[0].kind = State::Kind::parameter;
    p.output(p.b().matmul(p.input(DType::f32, {2, kShort}), p.b().transpose(weight, 0, 1)));
    QuantizeRule r = rule(f);
    if (!activations) r.recipe.activations = Activations::floats;
    const QuantizeReport report = quantize_weights(p.program(), {r}, {});
    ASSERT_EQ(report.unquantized.size(), activations ? 1u : 0u);
    if (!activations) continue;
    EXPECT_EQ(report.unquantized[0].reason,
              "its rows of 48 elements are not divisible by the activations' blocks of 32");
  }
}

}  // namespace
}  // namespace tern::quantize
