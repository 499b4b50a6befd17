// Prefetches of steps: constants that later steps read from end to end, within the memory bandwidth.
#include "runtime/plan/upcoming.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "kernels/cpu/upcoming.h"

namespace tern {
namespace {

constexpr std::int64_t kChannels = 256;

/// A plan of float products [rows, channels] x [channels, columns], each with its own weight.
class Products {
 public:
  explicit Products(std::size_t most) : weights_(most) {
    node_.op = Op::matmul;
    plan_.constant = std::make_unique<bool[]>(3 * most);
  }
  void add(std::int64_t rows, std::int64_t columns, bool asks_ahead) {
    std::vector<std::byte>& weight = weights_.at(plan_.steps.size());
    weight.resize(static_cast<std::size_t>(kChannels * columns) * sizeof(float));
    plan_.constant[plan_.args.size() + 1] = true;
    PlanStep& s = plan_.steps.emplace_back();
    s.resolved = &node_;
    s.kernel = &cpu_kernels().kernels[static_cast<std::size_t>(node_.op)];
    s.args = static_cast<std::uint32_t>(plan_.args.size());
    s.inputs = 2;
    s.outputs = 1;
    auto state = std::make_unique<KernelState>();
    state->asks_ahead = asks_ahead;
    s.state = std::move(state);
    plan_.args.push_back(matrix(rows, kChannels, nullptr));
    // The exported layout: [columns, channels], viewed transposed.
    TensorView w = matrix(columns, kChannels, weight.data());
    std::swap(w.sizes[0], w.sizes[1]);
    std::swap(w.strides[0], w.strides[1]);
    plan_.args.push_back(w);
    plan_.args.push_back(matrix(rows, columns, nullptr));
  }
  const std::vector<PlanStep>& steps() {
    plan_upcoming(plan_);
    return plan_.steps;
  }
  const std::byte* weight(std::size_t step) const { return weights_[step].data(); }
  std::size_t size(std::size_t step) const { return weights_[step].size(); }

 private:
  static TensorView matrix(std::int64_t rows, std::int64_t columns, std::byte* data) {
    TensorView v;
    v.data = data;
    v.dtype = DType::f32;
    v.rank = 2;
    v.sizes = {rows, columns};
    make_contiguous(v);
    return v;
  }
  Node node_;
  SectionPlan plan_;
  std::vector<std::vector<std::byte>> weights_;
};

TEST(Upcoming, NearestStepsAskForTheBeginning) {
  Products p(4);
  p.add(64, 1024, true);   // 34 million operations
  p.add(64, 32, true);     // 1 million
  p.add(64, 1024, false);  // its kernel requests no prefetch
  p.add(1, 1024, false);   // a megabyte
  const std::vector<PlanStep>& steps = p.steps();
  ASSERT_EQ(steps[1].upcoming.size(), 1U);
  const Upcoming &near = steps[1].upcoming[0], &far = steps[0].upcoming.at(0);
  EXPECT_EQ(near.data, p.weight(3));
  EXPECT_EQ(near.size, p.size(3));
  EXPECT_EQ(near.begin, 0U);
  EXPECT_GT(near.end, 0U);
  EXPECT_LT(near.end, p.size(3) / 2) << "more than memory gives in that time";
  EXPECT_EQ(far.begin, near.end);
  EXPECT_EQ(far.end, p.size(3));
  EXPECT_TRUE(steps[2].upcoming.empty());
  EXPECT_TRUE(steps[3].upcoming.empty());
}

TEST(Upcoming, OnlyWhatIsReadOnceIsAskedFor) {
  Products p(4);
  p.add(64, 1024, true);
  p.add(16, 1024, false);  // bound by compute
  p.add(1, 4, false);      // small
  p.add(1, 512, false);
  const std::vector<PlanStep>& steps = p.steps();
  ASSERT_EQ(steps[0].upcoming.size(), 1U);
  EXPECT_EQ(steps[0].upcoming[0].data, p.weight(3));
}

TEST(Upcoming, StepsShareWhatMemoryGives) {
  Products p(5);
  p.add(64, 1024, true);
  p.add(64, 128, true);
  p.add(1, 512, false);
  p.add(1, 512, false);
  p.add(1, 1 << 16, false);  // 64 MB, larger than any cache
  const std::vector<PlanStep>& steps = p.steps();
  std::size_t of_first = 0, of_last = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Upcoming& u : steps[i].upcoming) {
      EXPECT_LT(u.begin, u.end);
      EXPECT_LE(u.end, u.size);
      if (u.data == p.weight(2)) of_first += u.end - u.begin;
      if (u.data == p.weight(4)) of_last += u.end - u.begin;
    }
  }
  EXPECT_EQ(of_first, p.size(2));
  EXPECT_LT(of_last, p.size(4) / 8);
}

/// Threads with one and two thirds of a step prefetch disjoint shares of the constants.
TEST(Upcoming, ThreadsAskForTheirParts) {
  constexpr std::size_t kSize = 3 * 64 * 100;
  std::vector<std::byte> first(kSize), second(kSize);
  // All of the first, and the last half of each thread's part of the second.
  const Upcoming all[] = {{first.data(), kSize, 0, kSize}, {second.data(), kSize, kSize / 2, kSize}};
  const auto lines_of = [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::pair<int, std::ptrdiff_t>> lines;  // constant and line
    cpu::UpcomingLines upcoming(all, begin, end, 3);
    while (upcoming.remaining_lines() > 0) {
      std::int64_t count = 7;
      const std::byte* at = upcoming.take_lines(&count);
      EXPECT_GT(count, 0);
      const int constant = at >= first.data() && at < first.data() + kSize ? 0 : 1;
      for (std::int64_t i = 0; i < count; ++i)
        lines.emplace_back(constant, (at - (constant == 0 ? first : second).data()) / 64 + i);
    }
    return lines;
  };
  const auto expected = [](const std::vector<std::array<std::ptrdiff_t, 3>>& ranges) {
    std::vector<std::pair<int, std::ptrdiff_t>> lines;
    for (const auto& [constant, begin, end] : ranges) {
      for (std::ptrdiff_t i = begin; i < end; ++i) lines.emplace_back(static_cast<int>(constant), i);
    }
    return lines;
  };
  EXPECT_EQ(lines_of(0, 1), expected({{0, 0, 100}, {1, 50, 100}}));
  EXPECT_EQ(lines_of(1, 3), expected({{0, 100, 300}, {1, 200, 300}}));
}

}  // namespace
}  // namespace tern
