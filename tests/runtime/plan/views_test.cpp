#include "runtime/plan/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "exporter/builder.h"

namespace tern {
namespace {

TensorView view_of(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides = {}) {
  TensorView v;
  v.dtype = DType::f32;
  v.rank = static_cast<std::int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), v.sizes.begin());
  if (strides.empty()) {
    make_contiguous(v);
  } else {
    std::copy(strides.begin(), strides.end(), v.strides.begin());
  }
  return v;
}

bool reshape(const TensorView& x, TensorView* out) {
  Node n;
  n.op = Op::reshape;
  std::int64_t offset = 0;
  return apply_view(n, x, out, &offset);
}

std::int64_t address(const TensorView& v, std::int64_t linear) {
  std::int64_t at = 0;
  for (int i = v.rank - 1; i >= 0; --i) {
    at += linear % v.size(i) * v.stride(i);
    linear /= v.size(i);
  }
  return at;
}

// Whatever strides reshape finds must reach the same elements in the same order.
TEST(Views, ReshapeKeepsTheOrderOfElements) {
  struct Case {
    TensorView x;
    std::vector<std::int64_t> shape;
    bool possible;
  };
  const Case cases[] = {
      {view_of({2, 3, 4}), {6, 4}, true},
      {view_of({2, 3, 4}), {2, 12}, true},
      {view_of({2, 3, 4}), {4, 3, 2}, true},
      {view_of({4, 6}, {1, 4}), {4, 2, 3}, true},
      {view_of({4, 6}, {1, 4}), {24}, false},
      {view_of({2, 3, 4}, {24, 4, 1}), {2, 12}, true},
      {view_of({2, 3, 4}, {24, 4, 1}), {6, 4}, false},
      {view_of({3, 1, 4}, {8, 99, 2}), {12}, true},
      {view_of({3, 4}, {0, 1}), {12}, false},
      {view_of({3, 4}, {0, 1}), {3, 2, 2}, true},
      {view_of({5}, {-1}), {1, 5, 1}, true},
      {view_of({}), {1, 1}, true},
      {view_of({1, 1}), {}, true},
      {view_of({0, 4}), {4, 0}, true},
  };
  for (const Case& c : cases) {
    TensorView out = view_of(c.shape);
    ASSERT_EQ(reshape(c.x, &out), c.possible);
    if (!c.possible) continue;
    for (std::int64_t i = 0; i < out.numel(); ++i) EXPECT_EQ(address(c.x, i), address(out, i));
  }
}

TEST(Views, CopiesAnyStridesToAnyStrides) {
  std::vector<float> from(2 * 3 * 40 * 50);
  std::iota(from.begin(), from.end(), 0.0f);
  TensorView x = view_of({50, 3, 2, 40}, {40, 2000, 6000, 1});
  x.data = reinterpret_cast<std::byte*>(from.data());
  TensorView flipped = view_of({50, 3, 2, 40}, {-40, 2000, 6000, 1});
  flipped.data = reinterpret_cast<std::byte*>(from.data() + 49 * 40);
  for (const TensorView& v : {x, flipped}) {
    std::vector<float> to(from.size(), -1);
    TensorView y = view_of({50, 3, 2, 40}, {1, 50, 150, 300});
    y.data = reinterpret_cast<std::byte*>(to.data());
    copy_strided(v, y);
    for (std::int64_t i = 0; i < v.numel(); ++i)
      ASSERT_EQ(y.data_as<float>()[address(y, i)], v.data_as<float>()[address(v, i)]);
  }
  // Every order of the axes to every other.
  std::array<std::int64_t, 4> order{0, 1, 2, 3};
  std::vector<std::vector<std::int64_t>> strides;
  const std::vector<std::int64_t> sizes{3, 40, 2, 50};
  do {
    std::vector<std::int64_t> s(4);
    std::int64_t next = 1;
    for (const std::int64_t a : order) {
      s[static_cast<std::size_t>(a)] = next;
      next *= sizes[static_cast<std::size_t>(a)];
    }
    strides.push_back(s);
  } while (std::ranges::next_permutation(order).found);
  for (const auto& a : strides) {
    for (const auto& b : strides) {
      TensorView v = view_of(sizes, a), y = view_of(sizes, b);
      std::vector<float> to(from.size(), -1);
      v.data = reinterpret_cast<std::byte*>(from.data());
      y.data = reinterpret_cast<std::byte*>(to.data());
      copy_strided(v, y);
      for (std::int64_t i = 0; i < v.numel(); ++i)
        ASSERT_EQ(to[static_cast<std::size_t>(address(y, i))], from[static_cast<std::size_t>(address(v, i))]);
    }
  }
}

}  // namespace
}  // namespace tern
