// Arithmetic intensity of a section's convolutions, an input of the kernels' layout choice.
#include <gtest/gtest.h>

#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"
#include "runtime/prepared.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;

struct IntensitySeen : PlanObserver {
  void prepared(std::uint32_t, std::uint32_t, const Kernel&, const KernelCall& call, AlgorithmChoice choice) override {
    intensity = call.intensity;
    choices.push_back(choice);
  }
  double intensity = -1;
  std::vector<AlgorithmChoice> choices;
};

/// Two successive convolutions with the given channels and kernel size, over 16x16 positions.
IntensitySeen two_convolutions(std::int64_t channels, std::int64_t kernel) {
  TestProgram p;
  ValueId x = p.input(DType::f32, {1, channels, 16, 16});
  const auto weight = random_floats(channels * channels * kernel * kernel, 1);
  for (int i = 0; i < 2; ++i) {
    x = p.b().add(Op::convolution, {x, p.state({channels, channels, kernel, kernel}, weight, false)},
                  {{AttrKey::before, Dims{kernel / 2, kernel / 2}}, {AttrKey::after, Dims{kernel / 2, kernel / 2}}});
  }
  p.output(x);
  IntensitySeen seen;
  const auto prepared = prepare_program(p.model().program(), {}, {.listeners = {.observer = &seen}});
  Session session((PreparedModel(prepared)));
  session.run({floats({1, channels, 16, 16}, random_floats(channels * 256, 2))});
  return seen;
}

TEST(Intensity, IsOperationsPerElementReadOrWritten) {
  // Each result takes 2 * channels * kernel^2 operations; as many elements are read as written.
  EXPECT_DOUBLE_EQ(two_convolutions(32, 1).intensity, 32);
  EXPECT_DOUBLE_EQ(two_convolutions(64, 3).intensity, 576);
}

TEST(Intensity, DecidesAboutTiles) {
  if (!tiles::available()) GTEST_SKIP() << "no matrix tiles here";
  for (const std::int64_t kernel : {1, 3}) {
    const IntensitySeen seen = two_convolutions(64, kernel);
    const bool tiles = cpu::tiles_gain(seen.intensity, cpu::machine());
    ASSERT_EQ(seen.choices.size(), 2u);
    for (const AlgorithmChoice choice : seen.choices) EXPECT_EQ(choice == AlgorithmChoice{Algorithm::tiles}, tiles);
  }
}

TEST(Intensity, DecidesByWhatTheMachineDoes) {
  // Measured on a Xeon with AMX: tiles gained in resnet50 (375) and lost in densenet121 (260).
  const cpu::Machine xeon{.products = 72.5e9, .tile_products = 107.5e9, .bytes = 96e9};
  EXPECT_TRUE(cpu::tiles_gain(375, xeon));
  EXPECT_FALSE(cpu::tiles_gain(260, xeon));
  cpu::Machine other = xeon;
  other.tile_products = other.products;
  EXPECT_FALSE(cpu::tiles_gain(1e6, other)) << "tiles no faster than vectors";
  other.tile_products = 4 * other.products;
  EXPECT_TRUE(cpu::tiles_gain(260, other)) << "faster tiles";
  other.bytes /= 100;
  EXPECT_FALSE(cpu::tiles_gain(260, other)) << "a slow cache";
  EXPECT_FALSE(cpu::tiles_gain(1e6, {})) << "no tiles";
}

}  // namespace
}  // namespace tern
