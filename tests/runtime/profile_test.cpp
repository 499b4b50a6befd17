// Operation and byte counts of a profile, against the definitions.
#include "runtime/profile.h"

#include <gtest/gtest.h>

namespace tern {
namespace {

TensorView view(std::initializer_list<std::int64_t> sizes) {
  TensorView v;
  v.dtype = DType::f32;
  v.rank = static_cast<std::int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), v.sizes.begin());
  make_contiguous(v);
  return v;
}

double flops(Op op, std::vector<TensorView> in, std::vector<TensorView> out, bool transposed = false) {
  Node n;
  n.op = op;
  if (transposed) n.set(AttrKey::transposed, Dims{1});
  return flops_of(n, in, out);
}

TEST(Profile, FlopsOfContractions) {
  EXPECT_EQ(flops(Op::matmul, {view({2, 3, 5}), view({5, 7})}, {view({2, 3, 7})}), 2.0 * 2 * 3 * 5 * 7);
  // ResNet-50's first convolution: 0.236 GFLOP (He et al. 2016 count 0.118 G multiply-adds).
  EXPECT_EQ(flops(Op::convolution, {view({1, 3, 224, 224}), view({64, 3, 7, 7})}, {view({1, 64, 112, 112})}),
            2.0 * 64 * 112 * 112 * 3 * 49);
  // Depthwise: each output channel reads a single input channel.
  EXPECT_EQ(flops(Op::convolution, {view({1, 8, 10, 10}), view({8, 1, 3, 3})}, {view({1, 8, 8, 8})}), 2.0 * 8 * 64 * 9);
  EXPECT_EQ(flops(Op::convolution, {view({1, 4, 5, 5}), view({4, 6, 2, 2})}, {view({1, 6, 10, 10})}, true),
            2.0 * 4 * 25 * 6 * 4);
  EXPECT_EQ(
      flops(Op::attention, {view({1, 2, 10, 16}), view({1, 2, 20, 16}), view({1, 2, 20, 16})}, {view({1, 2, 10, 16})}),
      2.0 * 2 * 10 * 20 * 16 * 2);
  EXPECT_EQ(flops(Op::reshape, {view({10})}, {view({10})}), 0.0);
}

TEST(Profile, OperationsOfOtherOps) {
  // Two lines of 8: 8 log2(8) comparisons each.
  Node sort;
  sort.op = Op::sort;
  sort.set(AttrKey::axis, Dims{-1});
  EXPECT_EQ(flops_of(sort, std::vector{view({2, 8})}, std::vector{view({2, 8})}), 2.0 * 8 * 3);
  Node topk = sort;
  topk.op = Op::topk;
  EXPECT_EQ(flops_of(topk, std::vector{view({2, 8})}, std::vector{view({2, 4})}), 2.0 * (8 + 4 * 2));
  Node fft;
  fft.op = Op::fft;
  fft.set(AttrKey::axes, Dims{1});
  EXPECT_EQ(flops_of(fft, std::vector{view({3, 16})}, std::vector{view({3, 16})}), 3 * 5.0 * 16 * 4);
  EXPECT_EQ(flops_of(fft, std::vector{view({3, 16})}, std::vector{view({3, 9})}), 3 * 5.0 * 16 * 4 / 2);
  EXPECT_EQ(flops(Op::scan, {view({2, 8})}, {view({2, 8})}), 16.0);
  // LSTM with 5 features and 7 hidden elements, 3 steps of 2 sequences: 4 gates of products with x and h.
  EXPECT_EQ(
      flops(Op::rnn, {view({3, 2, 5}), view({1, 2, 7}), view({1, 2, 7}), view({28, 5}), view({28, 7}), view({28})},
            {view({3, 2, 7})}),
      3.0 * 2 * 2 * 28 * (5 + 7));
  EXPECT_EQ(flops(Op::cholesky, {view({2, 6, 6})}, {view({2, 6, 6})}), 2.0 * 6 * 6 * 6 / 3);
  EXPECT_EQ(flops(Op::lu_factor, {view({6, 6})}, {view({6, 6})}), 2.0 * 6 * 6 * 6 / 3);
  EXPECT_EQ(flops(Op::qr, {view({6, 3})}, {view({6, 3})}), 2.0 * 6 * 9 - 2.0 * 27 / 3);
  EXPECT_EQ(flops(Op::triangular_solve, {view({6, 6}), view({6, 2})}, {view({6, 2})}), 6.0 * 6 * 2);
  EXPECT_EQ(flops(Op::lu_solve, {view({6, 6}), {}, view({6, 2})}, {view({6, 2})}), 2.0 * 6 * 6 * 2);
  EXPECT_EQ(flops(Op::cdist, {view({4, 3}), view({5, 3})}, {view({4, 5})}), 3.0 * 4 * 5 * 3);
}

TEST(Profile, BytesAreOfOperandsAndResults) {
  Program program;
  program.functions.resize(1);
  program.functions[0].name = "forward";
  program.functions[0].nodes.resize(2);
  program.functions[0].nodes[0].op = Op::matmul;
  program.functions[0].nodes[1].op = Op::index_select;
  Profile profile;
  PlanStep product;
  product.resolved = &program.functions[0].nodes[0];
  TensorView expanded = view({5, 7});
  expanded.strides[0] = 0;  // repeated reads of the same row
  const std::vector<TensorView> in = {view({3, 5}), expanded}, out = {view({3, 7})};
  profile.add(0, product, in, out, 0.5);
  profile.add(0, product, in, out, 0.25);
  PlanStep select;
  select.node = select.number = 1;
  select.resolved = &program.functions[0].nodes[1];
  const std::vector<TensorView> table = {view({1000, 4}), view({2})}, rows = {view({2, 4})};
  profile.add(0, select, table, rows, 1);
  EXPECT_EQ(min_bytes(*select.resolved, table, rows), 4.0 * (8 + 8 + 2));
  const std::vector<NodeTime> times = profile.times(program);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].op, "index_select");
  EXPECT_EQ(times[0].bytes, 4.0 * (8 + 8 + 2));
  EXPECT_EQ(times[1].op, "matmul");
  EXPECT_EQ(times[1].bytes, 2 * 4.0 * (15 + 7 + 21));
  EXPECT_EQ(times[1].seconds, 0.75);
  EXPECT_EQ(times[1].runs, 2u);
  EXPECT_EQ(times[1].flops, 2 * 2.0 * 3 * 5 * 7);
}

}  // namespace
}  // namespace tern
