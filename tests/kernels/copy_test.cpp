// Copies between strided views against a loop over all elements: permuted, reversed and repeated axes, gaps, and rows
// of all lengths with different code paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/kernel.h"
#include "threads/threads.h"

namespace tern::test {
namespace {

using Sizes = std::vector<std::int64_t>;

struct CopyLayout {
  TensorView view;
  std::int64_t first = 0, elements = 0;  ///< position of the first element, and size of the memory
};

/// A view of these sizes with randomly permuted axes, some reversed, repeated (`reads`) or with gaps.
CopyLayout random_layout(const Sizes& sizes, bool reads, std::mt19937& random) {
  CopyLayout l;
  l.view.rank = static_cast<std::int32_t>(sizes.size());
  std::ranges::copy(sizes, l.view.sizes.begin());
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random() % 4 != 0) std::ranges::shuffle(order, random);
  std::int64_t step = random() % 4 == 0 ? 2 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    const auto kind = random() % 8;
    l.view.strides[axis] = step;
    if (reads && kind == 0) {
      l.view.strides[axis] = 0;
    } else if (kind == 1) {
      l.view.strides[axis] = -step;
      l.first += (sizes[axis] - 1) * step;
    }
    step *= sizes[axis] + (random() % 8 == 0 ? 1 : 0);
  }
  l.elements = step;
  return l;
}

std::int64_t element_index(const CopyLayout& l, std::int64_t index) {
  std::int64_t at = l.first;
  for (int i = l.view.rank; i-- > 0; index /= l.view.size(i)) at += index % l.view.size(i) * l.view.stride(i);
  return at;
}

template <class T>
void check(DType type, const Sizes& sizes, std::mt19937& random) {
  CopyLayout from = random_layout(sizes, true, random), to = random_layout(sizes, false, random);
  std::vector<T> source(static_cast<std::size_t>(from.elements)),
      result(static_cast<std::size_t>(to.elements), static_cast<T>(99)), expected = result;
  for (T& v : source) v = static_cast<T>(random() % 90);
  for (std::int64_t i = 0; i < from.view.numel(); ++i)
    expected[static_cast<std::size_t>(element_index(to, i))] = source[static_cast<std::size_t>(element_index(from, i))];
  from.view.dtype = to.view.dtype = type;
  from.view.data = reinterpret_cast<std::byte*>(source.data() + from.first);
  to.view.data = reinterpret_cast<std::byte*>(result.data() + to.first);
  copy_strided(from.view, to.view);
  ASSERT_EQ(result, expected);
}

TEST(Copy, IsExactForAllLayouts) {
  const Sizes shapes[] = {{1},           {5, 3},       {33, 65},       {2, 70, 9},         {40, 37, 3, 3}, {65, 33, 5},
                          {3, 1, 34, 7}, {100, 31, 2}, {4, 3, 40, 32}, {2, 2, 3, 2, 5, 2}, {7, 11, 1, 31}, {6, 200},
                          {4, 3, 70, 5}, {7, 90},      {2, 3000}};
  std::mt19937 random(1);
  for (const int threads : {1, 3}) {
    const ThreadScope scope((Threads(threads)));
    for (const Sizes& sizes : shapes) {
      for (int i = 0; i < 40; ++i) {
        check<std::uint8_t>(DType::u8, sizes, random);
        check<std::int16_t>(DType::i16, sizes, random);
        check<float>(DType::f32, sizes, random);
        check<double>(DType::f64, sizes, random);
      }
    }
  }
}

}  // namespace
}  // namespace tern::test
