// Gradients of scans, segments and recurrent layers.
#include <gtest/gtest.h>

#include "schema/kinds.h"
#include "schema/window_kinds.h"
#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::doubles;
using testing::expect_gradients;
using testing::integers;
using testing::noise;
using Values = std::vector<ValueId>;

testing::BuildNodes scan(ScanKind kind, std::int64_t axis) {
  return [=](Builder& b, const Values& in) {
    return Values{b.add(Op::scan, in, {attr(AttrKey::kind, Dim(static_cast<int>(kind))), attr(AttrKey::axis, axis)})};
  };
}

TEST(SequenceGradients, Scans) {
  for (const ScanKind kind :
       {ScanKind::cumsum, ScanKind::cumprod, ScanKind::cummax, ScanKind::cummin, ScanKind::logcumsumexp}) {
    expect_gradients({noise({3, 5})}, scan(kind, 1));
    expect_gradients({noise({4, 2})}, scan(kind, 0));
  }
  for (const ScanKind kind : {ScanKind::cumsum, ScanKind::cumprod, ScanKind::logcumsumexp}) {
    expect_gradients({noise({3, 4}, 1, -1, 1, DType::c128)}, scan(kind, -1));
  }
}

TEST(SequenceGradients, ProductsWithZeros) {
  expect_gradients({doubles({3, 4}, {2, 0, 3, 0.5, 0, 0, 2, 1, 1.5, -1, 2, 0})}, scan(ScanKind::cumprod, 1));
}

TEST(SequenceGradients, Segments) {
  for (int kind = 1; kind < kScatterKinds; ++kind) {
    for (const bool starts : {false, true}) {
      const auto build = [=](Builder& b, const Values& in) {
        const std::int32_t bounds[] = {0, 3, 4, 6};
        std::vector<Attr> attrs = {attr(AttrKey::kind, Dim(kind)), attr(AttrKey::axis, Dim(0))};
        if (starts) attrs.push_back(attr_number(AttrKey::value, 0.5));
        return Values{b.add(Op::segment_reduce, {in[0], b.constant(DType::i32, {4}, bounds)}, attrs)};
      };
      expect_gradients({noise({7, 2})}, build);  // the last row is in no segment
      expect_gradients({doubles({7, 1}, {0, 2, 3, 0, 0, 0, 1})}, [=](Builder& b, const Values& in) {
        return static_cast<ScatterKind>(kind) == ScatterKind::prod ? build(b, in) : in;
      });
    }
  }
}

struct Recurrent {
  RnnKind kind;
  int layers = 1;
  bool is_bidirectional = false, bias = true, projects = false;
};

void expect_recurrent(const Recurrent& r) {
  constexpr std::int64_t kSteps = 3, kBatch = 2, kInput = 3, kHidden = 2;
  const std::int64_t gates = r.kind == RnnKind::lstm ? 4 : r.kind == RnnKind::gru ? 3 : 1;
  const std::int64_t directions = r.is_bidirectional ? 2 : 1, out = r.projects ? 1 : kHidden;
  const bool lstm = r.kind == RnnKind::lstm;
  std::vector<Tensor> inputs = {noise({kSteps, kBatch, kInput}), noise({r.layers * directions, kBatch, out}, 2)};
  if (lstm) inputs.push_back(noise({r.layers * directions, kBatch, kHidden}, 3));
  std::vector<bool> there = {true, true, lstm};
  for (int k = 0; k < r.layers * directions; ++k) {
    const std::int64_t width = k < directions ? kInput : directions * out;
    inputs.push_back(noise({gates * kHidden, width}, 10 + k));
    inputs.push_back(noise({gates * kHidden, out}, 20 + k));
    if (r.bias) inputs.push_back(noise({gates * kHidden}, 30 + k));
    if (r.bias) inputs.push_back(noise({gates * kHidden}, 40 + k));
    if (r.projects) inputs.push_back(noise({out, kHidden}, 50 + k));
    there.insert(there.end(), {true, true, r.bias, r.bias, r.projects});
  }
  expect_gradients(inputs, [&](Builder& b, const Values& in) {
    Values operands;
    std::size_t next = 0;
    for (const bool has_argument : there) operands.push_back(has_argument ? in[next++] : kNoValue);
    return b.add_all(Op::rnn, operands,
                     {attr(AttrKey::kind, Dim(static_cast<int>(r.kind))), attr(AttrKey::layers, Dim(r.layers)),
                      attr(AttrKey::bidirectional, Dim(r.is_bidirectional))});
  });
}

TEST(SequenceGradients, RecurrentLayers) {
  for (const RnnKind kind : {RnnKind::lstm, RnnKind::gru, RnnKind::tanh, RnnKind::relu}) {
    SCOPED_TRACE(static_cast<int>(kind));
    expect_recurrent({.kind = kind});
    expect_recurrent({.kind = kind, .layers = 2, .is_bidirectional = true, .bias = false});
  }
  expect_recurrent({.kind = RnnKind::lstm, .layers = 2, .is_bidirectional = true, .projects = true});
}

TEST(SequenceGradients, SortAndTopk) {
  expect_gradients({noise({3, 4})}, [](Builder& b, const Values& in) {
    return b.add_all(Op::sort, in, {attr(AttrKey::axis, Dim(1)), attr(AttrKey::descending, Dim(1))});
  });
  expect_gradients({noise({3, 4})}, [](Builder& b, const Values& in) {
    return b.add_all(Op::topk, in, {attr(AttrKey::axis, Dim(0)), attr(AttrKey::k, Dim(2))});
  });
}

}  // namespace
}  // namespace tern
