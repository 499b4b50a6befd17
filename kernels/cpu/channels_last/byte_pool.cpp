// max_pool of 8-bit integers: reduces the lines under each result line, then the positions.
#include <algorithm>
#include <limits>

#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/channels_last/pool.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::channels_last {
namespace {

constexpr std::size_t kLineSlot = 5;

void larger(std::uint8_t* y, const std::uint8_t* x, std::int64_t count) {
  loops().larger_unsigned(y, x, count);
}
void larger(std::int8_t* y, const std::int8_t* x, std::int64_t count) {
  loops().larger_signed(y, x, count);
}

/// y = the maximum over the window's elements inside the image along an axis; x(i) has `count` elements.
template <class T, class X>
void reduce(const cpu::WindowAxis& a, std::int64_t window, std::int64_t count, T* y, const X& x) {
  std::int64_t first = 0, end = 0;
  cpu::elements_inside(a, window, &first, &end);
  if (first >= end) {
    std::fill_n(y, count, std::numeric_limits<T>::lowest());
    return;
  }
  std::copy_n(x(a.position(window, first)), count, y);
  for (std::int64_t k = first + 1; k < end; ++k) larger(y, x(a.position(window, k)), count);
}

template <class T>
void pool(const ChannelsLastPool& p, const T* x, T* y) {
  const cpu::WindowAxis &h = p.window[1], &w = p.window[2];
  const std::int64_t line = w.in * p.channels;
  parallel_for(p.batch * h.out, grain_for(line * h.kernel / 8), [&](std::int64_t begin, std::int64_t end) {
    T* const most = thread_buffer<T>(static_cast<std::size_t>(line), kLineSlot);
    for (std::int64_t i = begin; i < end; ++i) {
      const T* image = x + i / h.out * h.in * line;
      reduce(h, i % h.out, line, most, [&](std::int64_t at) { return image + at * line; });
      T* to = y + i * w.out * p.channels;
      for (std::int64_t o = 0; o < w.out; ++o, to += p.channels)
        reduce(w, o, p.channels, to, [&](std::int64_t at) { return most + at * p.channels; });
    }
  });
}

}  // namespace

void max_pool(const ChannelsLastPool& p, const std::uint8_t* x, std::uint8_t* y) {
  pool(p, x, y);
}
void max_pool(const ChannelsLastPool& p, const std::int8_t* x, std::int8_t* y) {
  pool(p, x, y);
}

}  // namespace tern::channels_last
