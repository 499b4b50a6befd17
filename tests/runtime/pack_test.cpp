// Weights packed at export: the same results, and the weight as exported is never touched.
#include "runtime/pack.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/support.h"
#include "tests/runtime/watched_source.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using testing::WatchedSource;

constexpr std::int64_t kPackIn = 96, kPackOut = 80;

std::vector<float> weights() {
  std::vector<float> w(kPackIn * kPackOut);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 13) - 6;
  return w;
}

TestProgram linear_layer() {
  TestProgram p;
  const Dim rows = p.b().pool().symbol("rows", 1, 100);
  const ValueId w = p.state({kPackOut, kPackIn}, weights(), false), x = p.input(DType::f32, {rows, kPackIn});
  p.output(p.b().matmul(x, p.b().transpose(w, 0, 1)));
  return p;
}

TEST(Pack, PackedWeightsGiveTheSameAndTheOthersStayUntouched) {
  TestProgram p = linear_layer();
  const Tensor x = floats({3, kPackIn}, std::vector<float>(3 * kPackIn, 0.5f));
  Session plain(p.model().prepare());
  const std::vector<float> expected = values_of(plain.run({x})[0]);
  // Sums of small integers are exact in any order.
  float first = 0;
  for (std::int64_t k = 0; k < kPackIn; ++k) first += weights()[static_cast<std::size_t>(k)] * 0.5f;
  EXPECT_EQ(expected[0], first);

  PackRecorder recorder = pack_weights(p.model().program(), {{"rows", 3}});
  if (recorder.packed.empty()) GTEST_SKIP() << "this processor's kernels pack nothing";
  Program& program = p.program();
  auto source = std::make_shared<ExtendableSource>(program.source, static_cast<std::uint32_t>(program.storages.size()));
  for (auto& [name, bytes] : recorder.packed) {
    const std::uint64_t size = bytes.size();
    program.packings.push_back({name.first, name.second, source->add(std::move(bytes))});
    program.storages.push_back({size});
  }
  const auto watched = std::make_shared<WatchedSource>(source, 0);
  program.source = watched;
  Session packed(p.model().prepare());
  EXPECT_EQ(values_of(packed.run({x})[0]), expected);
  EXPECT_EQ(watched->read_count(), 0) << "nothing read the weight as it was exported";
}

TEST(Pack, AKeyOfAnotherBuildIsIgnored) {
  TestProgram p = linear_layer();
  p.program().packings.push_back({0, "another library 9.9", 0});
  Session s(p.model().prepare());
  EXPECT_EQ(s.run({floats({1, kPackIn}, std::vector<float>(kPackIn, 1))})[0].numel(), kPackOut);
}

}  // namespace
}  // namespace tern
