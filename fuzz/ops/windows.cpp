// Programs of windows over images, sampling and detection.
#include <algorithm>
#include <limits>

#include "fuzz/ops/table.h"

namespace tern::fuzz {
namespace {

DType image_dtype(Make& m) {
  return m.pick({DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16});
}

void pool(Make& m) {
  const std::int64_t rank = m.in(1, 3), kind = m.in(0, 1);
  Sizes image = m.shape(m.in(1, 2));
  for (std::int64_t i = 0; i < rank; ++i) image.push_back(i + 1 == rank ? m.extent(0, 8) : m.in(0, 8));
  const Sizes kernel = m.list(rank, 1, 4);
  Sizes before;
  for (std::int64_t k : kernel) before.push_back(m.in(0, k / 2));
  m.operand(m.chance(60) ? image_dtype(m) : m.real(), image);
  m.set(Key::kind, kind);
  m.set(Key::kernel, kernel);
  m.set(Key::before, before);
  m.set(Key::dilations, kind == 0 ? m.list(rank, 1, 2) : Sizes(static_cast<std::size_t>(rank), 1));
  m.set(Key::ceil_mode, m.in(0, 1));
  m.set(Key::count_pads, m.in(0, 1));
  if (m.chance(70))
    m.set(Key::strides, m.chance(5) ? Sizes(static_cast<std::size_t>(rank), std::numeric_limits<std::int32_t>::max())
                                    : m.list(rank, 1, 3));
  if (kind == 1 && m.chance(20)) m.set(Key::divisor, m.in(1, 5));
}
void adaptive_pool(Make& m) {
  const std::int64_t rank = m.in(1, 3);
  Sizes image = m.shape(m.in(1, 2));
  for (std::int64_t i = 0; i < rank; ++i) image.push_back(i + 1 == rank ? m.extent(1, 7) : m.in(1, 7));
  m.operand(m.chance(60) ? image_dtype(m) : m.real(), image);
  m.set(Key::kind, m.in(0, 1));
  m.set(Key::sizes, m.list(rank, 0, 9));
}
void resize(Make& m) {
  const std::int64_t mode = m.in(0, 4), rank = mode > 2 ? 2 : m.in(1, 3);
  Sizes image = m.list(2, 0, 2);
  for (std::int64_t i = 0; i < rank; ++i) image.push_back(i + 1 == rank ? m.extent(1, 6) : m.in(1, 6));
  m.operand(m.chance(80) ? image_dtype(m) : DType::u8, image);
  m.set(Key::mode, mode);
  m.set(Key::sizes, m.list(rank, 1, 9));
  if (mode > 1) m.set(Key::align_corners, m.in(0, 1));
  if (rank == 2 && mode > 1) m.set(Key::antialias, mode == 4 ? 1 : m.in(0, 1));
  if (m.chance(40)) {
    std::vector<double> scales;
    for (std::int64_t i = 0; i < rank; ++i) scales.push_back(m.pick({0.0, 1e-9, 1e9, 0.5, 2.0, 0.3}));
    m.numbers(Key::scales, scales);
  }
}
void grid_sample(Make& m) {
  const std::int64_t rank = m.in(2, 3), batch = m.in(0, 2);
  const DType dtype = image_dtype(m);
  Sizes image = {batch, m.extent(0, 2)}, grid = {batch};
  for (std::int64_t i = 0; i < rank; ++i) {
    image.push_back(m.in(1, 5));
    grid.push_back(m.in(0, 4));
  }
  grid.push_back(rank);
  m.operand(dtype, image);
  m.operand(dtype, grid);
  m.set(Key::mode, m.in(0, rank == 2 ? 2 : 1));
  m.set(Key::kind, m.in(0, 2));
  m.set(Key::align_corners, m.in(0, 1));
}
void fold(Make& m) {
  const std::int64_t rank = m.in(1, 3);
  const Sizes kernel = m.list(rank, 1, 3), strides = m.list(rank, 1, 2), dilations = m.list(rank, 1, 2),
              before = m.list(rank, 0, 1), sizes = m.list(rank, 2, 6);
  std::int64_t windows = 1, elements = 1;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    // Last possible start of a window in the padded axis.
    const std::int64_t last_start = sizes[i] + 2 * before[i] - dilations[i] * (kernel[i] - 1) - 1;
    windows *= last_start < 0 ? 0 : last_start / strides[i] + 1;
    elements *= kernel[i];
  }
  m.operand(m.pick({DType::f32, DType::f64, DType::f16, DType::i64, DType::c64}),
            {m.in(0, 2), elements * m.in(0, 2), windows});
  m.set(Key::sizes, sizes);
  m.set(Key::kernel, kernel);
  m.set(Key::dilations, dilations);
  m.set(Key::before, before);
  m.set(Key::strides, strides);
}
void roi_align(Make& m) {
  const std::int64_t kind = m.in(0, 3);
  const Sizes sizes = m.list(2, 1, 3);
  const DType dtype = image_dtype(m);
  m.operand(dtype, {m.in(0, 2), m.in(0, 3) * (kind > 1 ? sizes[0] * sizes[1] : 1), m.in(0, 5), m.in(0, 5)});
  m.operand(dtype, {m.in(0, 3), 5});
  m.set(Key::kind, kind);
  m.set(Key::sizes, sizes);
  m.numbers(Key::scale, {m.pick({1.0, 0.5, 1e38, -1.0, 1e308})});
  m.set(Key::k, m.in(0, 3));
  m.set(Key::align_corners, m.in(0, 1));
}
void nms(Make& m) {
  const std::int64_t n = m.extent(0, 6);
  const DType dtype = image_dtype(m);
  m.operand(dtype, {n, 4});
  m.operand(dtype, {n});
  m.numbers(Key::value, {m.pick({0.5, 0.0, -1.0, 2.0})});
  m.set(Key::symbols, m.unbound());
}
void fractional_pool(Make& m) {
  const std::int64_t rank = m.in(2, 3);
  const DType dtype = image_dtype(m);
  Sizes image = {m.in(0, 2), m.in(0, 3)}, sizes;
  const Sizes kernel = m.list(rank, 1, 2);
  for (std::int64_t k : kernel) {
    image.push_back(m.in(2, 8));
    sizes.push_back(m.in(1, std::max<std::int64_t>(1, image.back() - k + 1)));
  }
  m.operand(dtype, image);
  m.operand(dtype, {image[0], image[1], rank});
  m.set(Key::kernel, kernel);
  m.set(Key::sizes, sizes);
}

}  // namespace

void list_windows(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::pool, pool);
  set(Op::adaptive_pool, adaptive_pool);
  set(Op::resize, resize);
  set(Op::grid_sample, grid_sample);
  set(Op::fold, fold);
  set(Op::roi_align, roi_align);
  set(Op::nms, nms);
  set(Op::fractional_pool, fractional_pool);
}

}  // namespace tern::fuzz
