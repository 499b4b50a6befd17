// Images stored channels-last inside a program: outputs and views keep the order of their axes.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "kernels/cpu/processor.h"
#include "schema/window_kinds.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;

constexpr std::int64_t kBatch = 2, kChannelsLastIn = 6, kChannelsLastOut = 24, kHeight = 7, kChannelsLastWidth = 9,
                       kPlane = kHeight * kChannelsLastWidth;

float channels_last_element(const std::vector<float>& v, std::int64_t i) {
  return v[static_cast<std::size_t>(i)];
}

/// A 3x3 convolution, padded by one; `in` channels per group.
std::vector<float> convolve(const std::vector<float>& x, const std::vector<float>& w, std::int64_t groups,
                            std::int64_t in, std::int64_t out) {
  std::vector<float> y;
  for (std::int64_t n = 0; n < kBatch; ++n) {
    for (std::int64_t o = 0; o < groups * out; ++o) {
      for (std::int64_t p = 0; p < kPlane; ++p) {
        double sum = 0;
        for (std::int64_t c = 0; c < in; ++c) {
          for (std::int64_t k = 0; k < 9; ++k) {
            const std::int64_t h = p / kChannelsLastWidth + k / 3 - 1, v = p % kChannelsLastWidth + k % 3 - 1;
            if (h < 0 || h >= kHeight || v < 0 || v >= kChannelsLastWidth) continue;
            const std::int64_t channel = n * groups * in + o / out * in + c;
            sum += static_cast<double>(channels_last_element(x, channel * kPlane + h * kChannelsLastWidth + v)) *
                   static_cast<double>(channels_last_element(w, (o * in + c) * 9 + k));
          }
        }
        y.push_back(static_cast<float>(sum));
      }
    }
  }
  return y;
}

ValueId convolution(Builder& b, ValueId x, ValueId weight, std::int64_t groups) {
  using Sizes = std::vector<std::int64_t>;
  return b.add(
      Op::convolution, {x, weight},
      {attr(AttrKey::strides, Sizes{1, 1}), attr(AttrKey::dilations, Sizes{1, 1}), attr(AttrKey::before, Sizes{1, 1}),
       attr(AttrKey::after, Sizes{1, 1}), attr(AttrKey::groups, Dim(groups))});
}

/// Requests channels last for all convolutions: small ones alone have cheaper algorithms.
void ask_for_channels_last(Program& program) {
  Tuning t{cpu::processor(), static_cast<std::uint32_t>(omp_get_max_threads()), {}};
  const auto& nodes = program.functions[0].nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::convolution) t.choices.push_back({0, i, "channels_last"});
  }
  program.tunings = {t};
}

TEST(ChannelsLast, LeavesTheOrderOfAxesToThoseWhoReadIt) {
  const auto x = random_floats(kBatch * kChannelsLastIn * kPlane, 1),
             dense = random_floats(kChannelsLastOut * kChannelsLastIn * 9, 2),
             deep = random_floats(kChannelsLastOut * 9, 3), offset = random_floats(kChannelsLastOut, 4);
  TestProgram p;
  auto& b = p.b();
  const ValueId in = p.input(DType::f32, {kBatch, kChannelsLastIn, kHeight, kChannelsLastWidth}),
                other = p.input(DType::f32, {kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth});
  const ValueId first = convolution(b, in, p.state({kChannelsLastOut, kChannelsLastIn, 3, 3}, dense, false), 1);
  const ValueId moved =
      b.expr("abs(y) + c", {{"y", first}, {"c", p.state({kChannelsLastOut, 1, 1}, offset, false)}}, DType::f32);
  const ValueId last = convolution(b, moved, p.state({kChannelsLastOut, 1, 3, 3}, deep, false), kChannelsLastOut);
  p.output(moved);
  p.output(last);
  p.output(b.permute(last, {0, 2, 3, 1}));
  p.output(b.reshape(last, {kBatch * kChannelsLastOut, kPlane}));
  p.output(b.expr("a - b", {{"a", last}, {"b", other}}, DType::f32));

  std::vector<float> want_moved = convolve(x, dense, 1, kChannelsLastIn, kChannelsLastOut);
  for (std::int64_t i = 0; i < kBatch * kChannelsLastOut * kPlane; ++i) {
    float& v = want_moved[static_cast<std::size_t>(i)];
    v = std::abs(v) + channels_last_element(offset, i / kPlane % kChannelsLastOut);
  }
  const std::vector<float> want = convolve(want_moved, deep, kChannelsLastOut, 1, 1),
                           rest = random_floats(kBatch * kChannelsLastOut * kPlane, 5);

  ask_for_channels_last(p.program());
  Session session(p.model().prepare());
  for (int round = 0; round < 2; ++round) {
    const std::vector<Tensor>& got =
        session.run({floats({kBatch, kChannelsLastIn, kHeight, kChannelsLastWidth}, x),
                     floats({kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth}, rest)});
    for (std::int64_t i = 0; i < kBatch * kChannelsLastOut * kPlane; ++i) {
      const std::int64_t n = i / kPlane / kChannelsLastOut, c = i / kPlane % kChannelsLastOut, position = i % kPlane;
      ASSERT_NEAR(channels_last_element(values_of(got[0]), i), channels_last_element(want_moved, i), 1e-5) << i;
      ASSERT_NEAR(channels_last_element(values_of(got[1]), i), channels_last_element(want, i), 1e-4) << i;
      ASSERT_EQ(channels_last_element(values_of(got[2]), (n * kPlane + position) * kChannelsLastOut + c),
                channels_last_element(values_of(got[1]), i))
          << i;
      ASSERT_EQ(channels_last_element(values_of(got[3]), i), channels_last_element(values_of(got[1]), i)) << i;
      ASSERT_EQ(channels_last_element(values_of(got[4]), i),
                channels_last_element(values_of(got[1]), i) - channels_last_element(rest, i))
          << i;
    }
  }
}

ValueId resized(Builder& b, ValueId x, ResizeMode mode, const std::vector<std::int64_t>& sizes, bool align_corners) {
  return b.add(Op::resize, {x},
               {attr(AttrKey::mode, Dim(static_cast<std::int64_t>(mode))), attr(AttrKey::sizes, sizes),
                attr_numbers(AttrKey::scales, {}), attr(AttrKey::align_corners, Dim(align_corners ? 1 : 0))});
}

/// Joins, pads and resizes two images.
std::vector<ValueId> moved(Builder& b, ValueId x, ValueId y) {
  std::vector<ValueId> all = {b.concat({x, y}, 1),
                              b.concat({x, y, x}, 2),
                              b.concat({x, x}, 0),
                              b.concat({y, x, x}, 3),
                              b.concat({y, x}, 1),
                              b.pad(x, {0, 0, 1, 2}, {0, 0, 3, 0}, 0.5),
                              b.pad(x, {0, 2, 0, 0}, {0, 1, -2, 1})};
  for (std::int64_t mode : {1, 2}) {
    all.push_back(b.add(Op::pad, {x},
                        {attr(AttrKey::before, Dims{0, 0, 2, 1}), attr(AttrKey::after, Dims{0, 0, 1, 3}),
                         attr(AttrKey::mode, Dim(mode))}));
  }
  using enum ResizeMode;
  for (const ResizeMode mode : {nearest, nearest_exact, linear, cubic}) {
    for (const std::vector<std::int64_t>& sizes :
         std::vector<std::vector<std::int64_t>>{{14, 18}, {7, 20}, {5, 9}, {3, 4}, {22, 5}, {1, 1}}) {
      all.push_back(resized(b, x, mode, sizes, false));
      if (mode == linear || mode == cubic) all.push_back(resized(b, x, mode, sizes, true));
    }
  }
  return all;
}

TEST(ChannelsLast, ImagesAreJoinedPaddedAndResizedAsOthers) {
  const auto x = random_floats(kBatch * kChannelsLastIn * kPlane, 1),
             y = random_floats(kBatch * kChannelsLastOut * kPlane, 2),
             weight = random_floats(kChannelsLastOut * kChannelsLastIn * 9, 3);
  TestProgram p, plain;
  const ValueId in = p.input(DType::f32, {kBatch, kChannelsLastIn, kHeight, kChannelsLastWidth}),
                other = p.input(DType::f32, {kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth}),
                image = convolution(p.b(), in, p.state({kChannelsLastOut, kChannelsLastIn, 3, 3}, weight, false), 1);
  p.output(image);
  for (const ValueId v : moved(p.b(), image, other)) p.output(v);
  const ValueId first = plain.input(DType::f32, {kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth}),
                second = plain.input(DType::f32, {kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth});
  for (const ValueId v : moved(plain.b(), first, second)) plain.output(v);

  ask_for_channels_last(p.program());
  Session session(p.model().prepare()), reference(plain.model().prepare());
  const std::vector<Tensor>& got = session.run({floats({kBatch, kChannelsLastIn, kHeight, kChannelsLastWidth}, x),
                                                floats({kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth}, y)});
  const std::vector<Tensor>& want =
      reference.run({floats({kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth}, values_of(got[0])),
                     floats({kBatch, kChannelsLastOut, kHeight, kChannelsLastWidth}, y)});
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(values_of(got[1 + i]), values_of(want[i])) << i;
}

}  // namespace
}  // namespace tern
