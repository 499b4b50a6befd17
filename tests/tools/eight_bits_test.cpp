// Optimizer states of 8 bits against torchao 0.18 (tests/data/optimizers/eight_bits.py): code tables and encoding bit
// for bit, and steps of AdamW8bit and Adam8bit, in a program and by tern::optim. The step rounds sums differently from
// torchao, so sometimes a value near a bound gets the neighbouring code.
#include <gtest/gtest.h>
#include <tern/optim.h>
#include <tern/tern.h>

#include <algorithm>
#include <cmath>

#include "dtypes/state_codes.h"
#include "exporter/optimizers/step.h"
#include "exporter/rewrite.h"
#include "kernels/cpu/optim/codes.h"
#include "tests/runtime/support.h"
#include "tools/files/safetensors.h"

namespace tern::optimizers {
namespace {

constexpr std::int64_t kEightBitsSteps = 6;

Tensor recorded(const std::string& key) {
  static const auto data = read_safetensors(TERN_SOURCE_DIR "/tests/data/optimizers/eight_bits.safetensors");
  const HostTensor& t = *data.find(key);
  Tensor copy(t.dtype, t.sizes);
  std::ranges::copy(t.data, copy.span<std::byte>().begin());
  return copy;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) { return x == y || (x != x && y != y); });
}

TEST(StateCodes, AreThoseOfTorchao) {
  for (const bool is_signed : {true, false}) {
    const std::string sign = is_signed ? "signed." : "unsigned.";
    EXPECT_TRUE(same_bits(state_codes(is_signed).values, recorded(sign + "values").span<const float>()));
    Tensor blocks = recorded("blocks");
    if (!is_signed) {
      for (float& x : blocks.span<float>()) x = std::fabs(x);
    }
    const auto n = blocks.numel();
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(n));
    std::vector<float> scales(static_cast<std::size_t>(n / kStateBlock));
    cpu::encode_states(blocks.span<const float>().data(), is_signed, n, codes.data(), scales.data());
    EXPECT_TRUE(std::ranges::equal(codes, recorded(sign + "codes").span<const std::uint8_t>()));
    EXPECT_TRUE(same_bits(scales, recorded(sign + "scales").span<const float>()));
  }
}

TEST(StateCodes, ChangeWhereTorchaosDo) {
  for (const bool is_signed : {true, false}) {
    const std::string sign = is_signed ? "signed." : "unsigned.";
    const Tensor edges = recorded(sign + "edges"), expected = recorded(sign + "edge_codes");
    const auto x = edges.span<const float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::vector<float> block(kStateBlock, 1);  // makes the scale 1
      block[7] = x[i];
      std::uint8_t codes[kStateBlock];
      float scale = 0;
      cpu::encode_states(block.data(), is_signed, kStateBlock, codes, &scale);
      ASSERT_EQ(codes[7], expected.span<const std::uint8_t>()[i]) << x[i];
      float decoded[kStateBlock];
      cpu::decode_states(codes, &scale, is_signed, kStateBlock, decoded);
      ASSERT_EQ(decoded[7], state_codes(is_signed).values[codes[7]]);
    }
  }
}

/// numbers() of the script.
Tensor numbers(std::int64_t rows, std::int64_t columns, std::int64_t seed) {
  constexpr float kScales[] = {1, 1e-1F, 1e-2F, 1e-3F, 1e-4F};
  Tensor t(DType::f32, {rows, columns});
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const auto whole = static_cast<float>((i * 7919 + seed * 104729) % 2001 - 1000);
    t.span<float>()[static_cast<std::size_t>(i)] = whole / 1000 * kScales[i / 256 % 5];
  }
  return t;
}
constexpr std::int64_t kSizes[][2] = {{16, 256}, {65, 63}};
Tensor gradient(std::int64_t step, std::int64_t k) {
  return numbers(kSizes[k][0], kSizes[k][1], 10 * step + k + 5);
}

void expect_near(std::span<const float> got, std::span<const float> expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], 2e-6 * std::max(1.0F, std::fabs(expected[i]))) << i;
}

/// Codes are the same, but for some neighbours.
void expect_codes(std::span<const std::uint8_t> got, std::span<const std::uint8_t> expected) {
  ASSERT_EQ(got.size(), expected.size());
  std::size_t others = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - expected[i]), 1) << i;
    others += got[i] != expected[i];
  }
  EXPECT_LE(others, got.size() / 500);
}

struct EightBitsCase {
  const char* name;
  Optimizer optimizer;
  optim::Kind kind;
  double weight_decay;
  std::array<double, 2> betas;
};
constexpr EightBitsCase kCases[] = {{"adamw", Optimizer::adamw, optim::Kind::adamw, 1e-2, {0.9, 0.999}},
                                    {"adam", Optimizer::adam, optim::Kind::adam, 0.1, {0.8, 0.99}}};

TEST(EightBits, TernOptimFollowsTorchao) {
  for (const EightBitsCase& c : kCases) {
    optim::Options o = optim::defaults(c.kind);
    o.lr = 1e-2;
    o.weight_decay = c.weight_decay;
    o.betas = c.betas;
    o.eight_bits = true;
    std::vector<Tensor> params;
    for (std::int64_t k = 0; k < 2; ++k) params.push_back(numbers(kSizes[k][0], kSizes[k][1], k));
    optim::States states = optim::make_states(o, params);
    EXPECT_EQ(states.first[0].dtype(), DType::u8);
    EXPECT_EQ(states.first[1].dtype(), DType::f32);
    for (std::int64_t step = 0; step < kEightBitsSteps; ++step)
      optim::step(o, params, std::vector{gradient(step, 0), gradient(step, 1)}, states, {.threads = 2});
    const std::string name = c.name;
    for (std::size_t k = 0; k < 2; ++k)
      expect_near(params[k].span<const float>(), recorded(name + ".p" + std::to_string(k)).span<const float>());
    expect_codes(states.first[0].span<const std::uint8_t>(), recorded(name + ".exp_avg0").span<const std::uint8_t>());
    expect_codes(states.second[0].span<const std::uint8_t>(),
                 recorded(name + ".exp_avg_sq0").span<const std::uint8_t>());
    expect_near(states.first_scales[0].span<const float>(), recorded(name + ".exp_avg_scale0").span<const float>());
  }
}

/// A mutable state of a program, with these bytes.
ValueId add_state(testing::TestProgram& p, const TensorType& type, std::vector<std::byte> bytes) {
  const auto number = static_cast<std::uint32_t>(p.program().states.size());
  State s{.name = "s" + std::to_string(number), .type = type, .strides = row_major(type.shape), .is_mutable = true};
  s.storage = add_storage(p.program(), std::move(bytes));
  p.program().states.push_back(std::move(s));
  const ValueId v = p.b().add_value(type);
  p.program().functions[0].inputs.push_back({FunctionInput::Kind::state, v, number, "", {}});
  return v;
}

TEST(EightBits, StepsOfProgramsFollowTorchao) {
  for (const EightBitsCase& c : kCases) {
    OptimizerOptions o = options_for(c.optimizer);
    o.lr = 1e-2;
    o.weight_decay = c.weight_decay;
    o.betas = c.betas;
    o.coded = true;
    const TensorType type{DType::f32, {Dim(16), Dim(256)}};
    ASSERT_TRUE(is_coded(o, type));
    EXPECT_FALSE(is_coded(o, {DType::f32, {Dim(65), Dim(63)}}));
    testing::TestProgram p;
    const Tensor begin = numbers(16, 256, 0);
    const auto bytes = begin.span<const std::byte>();
    const ValueId param = add_state(p, type, {bytes.begin(), bytes.end()});
    const ValueId grad = p.input(DType::f32, type.shape);
    std::vector<ValueId> states;
    for (const StateTensor& s : optimizer_states(o, {type})) {
      std::uint64_t size = 0;
      ASSERT_TRUE(byte_size(s.type, &size));
      states.push_back(add_state(p, s.type, std::vector<std::byte>(size)));
    }
    ASSERT_EQ(states.size(), 5u);
    const StepResults results = optimizer_step(p.b(), o, {param}, {grad}, states);
    p.write_back(0, results.params[0]);
    p.output(results.params[0]);
    for (std::size_t i = 0; i < states.size(); ++i) p.write_back(static_cast<std::uint32_t>(i + 1), results.states[i]);
    for (const bool reproducible : {false, true}) {
      PrepareOptions prepare;
      prepare.reproducible = reproducible;
      Session session(p.model().prepare(prepare));
      for (std::int64_t step = 0; step < kEightBitsSteps; ++step) session.run({gradient(step, 0)});
      const std::string name = c.name;
      expect_near(session.read_state("s0").span<const float>(), recorded(name + ".p0").span<const float>());
      expect_codes(session.read_state("s2").span<const std::uint8_t>(),
                   recorded(name + ".exp_avg0").span<const std::uint8_t>());
      expect_near(session.read_state("s3").span<const float>(), recorded(name + ".exp_avg_scale0").span<const float>());
      expect_codes(session.read_state("s4").span<const std::uint8_t>(),
                   recorded(name + ".exp_avg_sq0").span<const std::uint8_t>());
    }
  }
}

}  // namespace
}  // namespace tern::optimizers
