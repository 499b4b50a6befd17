// Attention in a loop over the slots of a decoder's caches (runtime/fuse/batched_attention.h), on every device against
// sums in double: slots with a sequence in the run, and slots without, zeroed by the loop's idle branch.
#include "runtime/fuse/batched_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "exporter/llm/slots/loop_body.h"
#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

constexpr std::int64_t kSlots = 4, kTexts = 3, kHeads = 4, kKeyHeads = 2, kCacheLength = 96,
                       kBatchedAttentionWidth = 16, kBlock = 32;
constexpr std::int64_t kSlotOf[kTexts] = {2, 0, 3};
constexpr std::int64_t kSequenceLengths[kTexts] = {1, 50, 96};  // positions of a sequence

class BatchedAttentionTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, BatchedAttentionTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// A single sequence: attention over the filled blocks of its cache, as exported.
Function sequence_body(TestProgram& p, TextNodes& t) {
  const std::uint32_t number = p.add_body();
  Builder b(p.program(), number);
  const ValueId filled = b.add_value({DType::i64, {}}),
                keys = b.add_value({DType::f32, {1, kKeyHeads, kCacheLength, kBatchedAttentionWidth}}),
                values = b.add_value({DType::f32, {1, kKeyHeads, kCacheLength, kBatchedAttentionWidth}}),
                mask = b.add_value({DType::boolean, {1, 1, 1, kCacheLength}}),
                query = b.add_value({DType::f32, {1, kHeads, 1, kBatchedAttentionWidth}});
  const Dim blocks = b.pool().new_symbol("filled", 1, kCacheLength / kBlock),
            length = b.pool().mul(blocks, Dim(kBlock));
  b.add_all(Op::item, {filled}, {attr(AttrKey::symbols, Dims{blocks})});
  t.operands = {keys, values, filled, mask, query};
  t.results = {b.add(
      Op::attention,
      {query, b.slice(keys, 2, Dim(0), length), b.slice(values, 2, Dim(0), length), b.slice(mask, 3, Dim(0), length)},
      {attr(AttrKey::causal, Dim(0)), attr_number(AttrKey::scale, 0.25)})};
  Function f = b.function();
  for (std::size_t i = 0; i < f.nodes.size(); ++i) t.nodes.push_back(i);
  return f;
}

/// The loop over slots; returns the result for the sequences.
TestProgram looped() {
  TestProgram p;
  TextNodes t;
  const Function one = sequence_body(p, t);
  t.source = &one;
  const ValueId keys = p.input(DType::f32, {kSlots, 1, kKeyHeads, kCacheLength, kBatchedAttentionWidth}),
                values = p.input(DType::f32, {kSlots, 1, kKeyHeads, kCacheLength, kBatchedAttentionWidth}),
                filled = p.input(DType::i64, {kTexts}), mask = p.input(DType::boolean, {kTexts, 1, 1, 1, kCacheLength}),
                query = p.input(DType::f32, {kTexts, 1, kHeads, 1, kBatchedAttentionWidth}),
                slot = p.input(DType::i64, {kTexts});
  Node n;
  n.op = Op::map_loop;
  n.inputs = {p.b().add(Op::index_put, {p.b().full({kSlots}, -1, DType::i64), p.b().iota(kTexts, DType::i64), slot}),
              keys,
              values,
              filled,
              mask,
              query};
  n.functions = {slot_body(p.program(), "loop", t, {false, false, true, true, true}, kTexts)};
  n.attrs = {attr(AttrKey::mapped, Dim(3))};
  const ValueId all = p.b().add(std::move(n)).front();
  p.output(p.b().index_select(all, slot, 0));
  p.output(all);
  return p;
}

std::vector<Tensor> inputs() {
  std::vector<Tensor> all = {numbers(DType::f32, {kSlots, 1, kKeyHeads, kCacheLength, kBatchedAttentionWidth}, 1),
                             numbers(DType::f32, {kSlots, 1, kKeyHeads, kCacheLength, kBatchedAttentionWidth}, 2),
                             Tensor(DType::i64, {kTexts}),
                             Tensor(DType::boolean, {kTexts, 1, 1, 1, kCacheLength}),
                             numbers(DType::f32, {kTexts, 1, kHeads, 1, kBatchedAttentionWidth}, 3),
                             Tensor(DType::i64, {kTexts})};
  for (std::int64_t i = 0; i < kTexts; ++i) {
    all[2].span<std::int64_t>()[static_cast<std::size_t>(i)] = (kSequenceLengths[i] + kBlock - 1) / kBlock;
    all[5].span<std::int64_t>()[static_cast<std::size_t>(i)] = kSlotOf[i];
    for (std::int64_t k = 0; k < kCacheLength; ++k)
      all[3].span<bool>()[static_cast<std::size_t>(i * kCacheLength + k)] = k < kSequenceLengths[i];
    // Unwritten entries must not count.
    for (std::int64_t h = 0; h < kKeyHeads; ++h)
      for (std::int64_t k = kSequenceLengths[i]; k < kCacheLength; ++k)
        for (const std::size_t x : {0U, 1U})
          all[x].span<float>()[static_cast<std::size_t>(((kSlotOf[i] * kKeyHeads + h) * kCacheLength + k) *
                                                        kBatchedAttentionWidth)] = 1e30F;
  }
  return all;
}

/// Expected column `d` of a sequence's head.
double expected(const std::vector<Tensor>& in, std::int64_t text, std::int64_t head, std::int64_t d) {
  const auto at = [&](const Tensor& x, std::int64_t k, std::int64_t column) {
    const std::int64_t row = (kSlotOf[text] * kKeyHeads + head / (kHeads / kKeyHeads)) * kCacheLength + k;
    return static_cast<double>(x.span<const float>()[static_cast<std::size_t>(row * kBatchedAttentionWidth + column)]);
  };
  double total = 0, sum = 0;
  for (std::int64_t k = 0; k < kSequenceLengths[text]; ++k) {
    double score = 0;
    for (std::int64_t c = 0; c < kBatchedAttentionWidth; ++c)
      score += static_cast<double>(in[4].span<const float>()[static_cast<std::size_t>(
                   (text * kHeads + head) * kBatchedAttentionWidth + c)]) *
               at(in[0], k, c);
    total += std::exp(score * 0.25);
    sum += std::exp(score * 0.25) * at(in[1], k, d);
  }
  return sum / total;
}

TEST_P(BatchedAttentionTest, IsThatOfEachText) {
  const TestProgram p = looped();
  const std::vector<Tensor> in = inputs();
  Session session(p.model().prepare(options_on(GetParam())));
  const std::vector<Tensor>& results = session.run(in);
  const std::span<const float> y = results[0].span<const float>();
  for (std::int64_t i = 0; i < kTexts; ++i) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t d = 0; d < kBatchedAttentionWidth; ++d)
        ASSERT_NEAR(y[static_cast<std::size_t>((i * kHeads + h) * kBatchedAttentionWidth + d)], expected(in, i, h, d),
                    2e-5)
            << "text " << i << ", head " << h << ", column " << d;
    }
  }
  for (const float v :
       results[1].span<const float>().subspan(kHeads * kBatchedAttentionWidth, kHeads * kBatchedAttentionWidth))
    ASSERT_EQ(v, 0) << "slot 1 has no text";
}

TEST(BatchedAttention, TakesTheWholeLoop) {
  TestProgram p = looped();
  Function f = p.program().functions[0];
  const std::size_t loop = 3;
  ASSERT_EQ(f.nodes[loop].op, Op::map_loop);
  const std::vector<std::uint32_t> numbers = batch_attention(p.program(), f);
  ASSERT_EQ(numbers.size(), f.nodes.size());
  int attentions = 0;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    EXPECT_NE(f.nodes[i].op, Op::map_loop);
    if (f.nodes[i].op != Op::attention) continue;
    ++attentions;
    EXPECT_EQ(numbers[i], loop);
  }
  EXPECT_EQ(attentions, 1);
}

TEST(BatchedAttention, LeavesOtherLoops) {
  for (void (*change)(Function&) :
       {+[](Function& body) { body.nodes[0].op = Op::reshape; },
        +[](Function& body) { body.nodes[0].expr.code.back().op = Scalar::ne; },
        +[](Function& body) { std::swap(body.nodes[1].inputs[2], body.nodes[1].inputs[3]); }}) {
    TestProgram p = looped();
    change(p.program().functions[p.program().functions[0].nodes[3].functions[0]]);
    Function f = p.program().functions[0];
    const std::size_t count = f.nodes.size();
    batch_attention(p.program(), f);
    EXPECT_EQ(f.nodes.size(), count);
    EXPECT_EQ(f.nodes[3].op, Op::map_loop);
  }
}

}  // namespace
}  // namespace tern
