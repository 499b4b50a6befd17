// nms, like torchvision's CPU kernel.
#include <algorithm>
#include <numeric>
#include <vector>

#include "dtypes/storage.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"

namespace tern::cpu {
namespace {

template <class T>
void nms_as(KernelCall& c) {
  const std::int64_t n = c.in[0].size(0);
  std::vector<T> boxes(static_cast<std::size_t>(4 * n)), scores(static_cast<std::size_t>(n));
  to_dense(c.in[0], dtype_of_v<T>, boxes.data());
  to_dense(c.in[1], dtype_of_v<T>, scores.data());
  std::vector<std::int64_t> order(static_cast<std::size_t>(n)), kept;
  std::iota(order.begin(), order.end(), 0);
  // NaN sorts before every number, as in torch.sort.
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const T a = scores[static_cast<std::size_t>(i)], b = scores[static_cast<std::size_t>(j)];
    return a > b || (a != a && b == b);
  });
  const auto area = [](const T* b) { return (b[2] - b[0]) * (b[3] - b[1]); };
  const double threshold = c.node->number(AttrKey::value);
  std::vector<char> suppressed(static_cast<std::size_t>(n), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (suppressed[i] != 0) continue;
    kept.push_back(order[i]);
    const T* a = boxes.data() + 4 * order[i];
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (suppressed[j] != 0) continue;
      const T* b = boxes.data() + 4 * order[j];
      const T w = std::max(T(0), std::min(a[2], b[2]) - std::max(a[0], b[0])),
              h = std::max(T(0), std::min(a[3], b[3]) - std::max(a[1], b[1]));
      const T inter = w * h;
      if (static_cast<double>(inter / (area(a) + area(b) - inter)) > threshold) suppressed[j] = 1;
    }
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  c.allocator->set_symbol(0, count);
  c.allocator->allocate(0, {&count, 1}, &c.out[0]);
  std::copy(kept.begin(), kept.end(), c.out[0].data_as<std::int64_t>());
}

void nms(KernelCall& c) {
  if (c.in[0].dtype == DType::f64) return nms_as<double>(c);
  nms_as<float>(c);
}

}  // namespace

Kernel nms_kernel() {
  return {.run = nms, .strided = 0b11};
}

}  // namespace tern::cpu
