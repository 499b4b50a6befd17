// Loops over padded planes against plain loops in double: every kernel, stride, dilation and padding, odd sizes, and
// each instruction set of this processor.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "dtypes/cpu_features.h"
#include "kernels/cpu/planes/convolve.h"
#include "kernels/cpu/planes/layout.h"
#include "tests/random_floats.h"

namespace tern::planes {
namespace {

using cpu::WindowAxis;
using test::random_floats;

std::vector<PlaneLoops> all_plane_loops() {
  std::vector<PlaneLoops> all;
  for_each_level(set_levels, [&](auto set) { set(&all.emplace_back()); });
  return all;
}

WindowAxis plane_axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                      std::int64_t before, std::int64_t after) {
  const std::int64_t room = in + before + after - (kernel - 1) * dilation - 1;
  return {in, room < 0 ? 0 : room / stride + 1, kernel, stride, dilation, before};
}

/// Calls f(h, w) for windows of many kinds.
template <class F>
void each_window(F&& f) {
  for (const std::int64_t kernel : {1, 2, 3, 5, 7}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t dilation : {1, 2}) {
        for (const std::int64_t pad : {0, 1, 2, 3}) {
          for (const std::int64_t size : {7, 14, 17, 35}) {
            const WindowAxis h = plane_axis(size, kernel, stride, dilation, pad, pad / 2),
                             w = plane_axis(size + 2, kernel, stride, dilation, pad, pad);
            const WindowAxis short_w =
                plane_axis(size, 1 + kernel / 2, 3 - std::min<std::int64_t>(stride, 2), 1, pad / 2, 1);
            if (h.out > 0 && w.out > 0) f(h, w);
            if (h.out > 0 && short_w.out > 0) f(h, short_w);
          }
        }
      }
    }
  }
}

/// A padded plane in a band's buffer, computed with the loops of an instruction set.
struct Padded {
  Bands bands;
  std::vector<std::int64_t> taps;
  std::vector<float> buffer;
  std::int64_t rows = 0, n = 0;

  Padded(const PlaneLoops& loops, const WindowAxis& h, const WindowAxis& w, const std::vector<float>& x,
         std::int64_t planes, std::int64_t parts, std::int64_t band, float fill)
      : bands(bands_of(h, w, planes, 4096, parts)), taps(taps_of(bands, h, w, planes)) {
    buffer.assign(static_cast<std::size_t>(bands.channel * planes + kMostTogether * kSlack), fill);
    for (std::int64_t p = 0; p < planes; ++p)
      loops.load(bands.layout, x.data() + p * h.in * w.in, band * bands.rows * h.stride, fill,
                 buffer.data() + p * bands.channel);
    rows = bands.rows_of(band, h.out);
    n = bands.positions(rows, w.out);
  }
  std::int64_t ld() const { return (n + kSlack - 1) / kSlack * kSlack; }
};

/// Calls f(plane's element, tap) for the elements of window (i, j) inside the plane.
template <class F>
void each_pixel_inside(const WindowAxis& h, const WindowAxis& w, std::int64_t i, std::int64_t j, F&& f) {
  for (std::int64_t a = 0; a < h.kernel; ++a) {
    for (std::int64_t b = 0; b < w.kernel; ++b) {
      const std::int64_t r = h.position(i, a), c = w.position(j, b);
      if (r >= 0 && r < h.in && c >= 0 && c < w.in) f(r * w.in + c, a * w.kernel + b);
    }
  }
}

TEST(Planes, ConvolvesAsAPlainLoopDoes) {
  for (const PlaneLoops& loops : all_plane_loops()) {
    each_window([&](const WindowAxis& h, const WindowAxis& w) {
      const std::int64_t planes = 1 + h.in % 2, kernel = h.kernel * w.kernel,
                         channels = 1 + (h.in + kernel) % loops.channels;
      const std::vector<float> x = random_floats(planes * h.in * w.in, 1), bias = random_floats(channels, 2),
                               weight = random_floats(channels * planes * kernel, 3);
      const std::int64_t parts = h.out > 4 ? 2 : 1;
      for (std::int64_t band = 0; band < bands_of(h, w, planes, 4096, parts).count; ++band) {
        const Padded p(loops, h, w, x, planes, parts, band, 0);
        std::vector<float> sums(static_cast<std::size_t>(p.ld() * channels));
        loops.convolve(p.buffer.data(), p.taps.data(), planes * kernel, weight.data(), planes * kernel, bias.data(),
                       static_cast<int>(channels), p.n, sums.data(), p.ld());
        for (std::int64_t c = 0; c < channels; ++c) {
          std::vector<float> y(static_cast<std::size_t>(p.rows * w.out));
          loops.store(sums.data() + c * p.ld(), p.bands.layout.pitch, w.out, p.rows, y.data());
          for (std::int64_t i = 0; i < p.rows * w.out; ++i) {
            double expected = bias[static_cast<std::size_t>(c)], size = 1;
            for (std::int64_t k = 0; k < planes; ++k) {
              each_pixel_inside(
                  h, w, band * p.bands.rows + i / w.out, i % w.out, [&](std::int64_t at, std::int64_t tap) {
                    const double product = static_cast<double>(x[static_cast<std::size_t>(k * h.in * w.in + at)]) *
                                           weight[static_cast<std::size_t>((c * planes + k) * kernel + tap)];
                    expected += product;
                    size += std::abs(product);
                  });
            }
            ASSERT_NEAR(y[static_cast<std::size_t>(i)], expected, size * 3e-7)
                << "kernel " << h.kernel << " " << w.kernel << " stride " << h.stride << " " << w.stride << " dilation "
                << h.dilation << " pad " << h.padding_before << " in " << h.in << " " << w.in << " at " << i;
          }
        }
      }
    });
  }
}

TEST(Planes, DepthwiseRowsAreThoseOfAPlainLoop) {
  for (const PlaneLoops& loops : all_plane_loops()) {
    each_window([&](const WindowAxis& h, const WindowAxis& w) {
      const std::vector<float> x = random_floats(h.in * w.in, 1), weight = random_floats(h.kernel * w.kernel, 2);
      const std::int64_t parts = h.out > 4 ? 2 : 1;
      for (std::int64_t band = 0; band < bands_of(h, w, 1, 4096, parts).count; ++band) {
        const Padded p(loops, h, w, x, 1, parts, band, 0);
        const std::vector<ColumnTaps> taps = columns_of(p.bands, h, w);
        if (h.dilation > 1) {
          ASSERT_TRUE(taps.empty());
          return;
        }
        std::vector<float> y(static_cast<std::size_t>(p.rows * w.out + 1), 77);
        loops.depthwise(p.buffer.data(), p.bands.layout.pitch, taps.data(), static_cast<std::int64_t>(taps.size()),
                        weight.data(), 0.5F, p.rows, w.out, y.data());
        ASSERT_EQ(y.back(), 77) << "written behind the end";
        for (std::int64_t i = 0; i < p.rows * w.out; ++i) {
          double expected = 0.5, size = 1;
          each_pixel_inside(h, w, band * p.bands.rows + i / w.out, i % w.out, [&](std::int64_t at, std::int64_t tap) {
            const double product =
                static_cast<double>(x[static_cast<std::size_t>(at)]) * weight[static_cast<std::size_t>(tap)];
            expected += product;
            size += std::abs(product);
          });
          ASSERT_NEAR(y[static_cast<std::size_t>(i)], expected, size * 3e-7)
              << "kernel " << h.kernel << " " << w.kernel << " stride " << h.stride << " " << w.stride << " pad "
              << h.padding_before << " in " << h.in << " " << w.in << " at " << i;
        }
      }
    });
  }
}

TEST(Planes, TheLargestIsTheFirstOfEqualsAndANaNStays) {
  for (const PlaneLoops& loops : all_plane_loops()) {
    each_window([&](const WindowAxis& h, const WindowAxis& w) {
      std::vector<float> x = random_floats(h.in * w.in, 4);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i % 3 == 0) x[i] = i % 2 == 0 ? -0.0F : 0.0F;
        if (i % 29 == 5) x[i] = std::nanf("");
        if (i % 5 == 0) x[i] = -1;
      }
      const Padded p(loops, h, w, x, 1, 1, 0, -INFINITY);
      std::vector<float> top(static_cast<std::size_t>(p.ld())), y(static_cast<std::size_t>(p.rows * w.out));
      loops.max(p.buffer.data(), p.taps.data(), h.kernel * w.kernel, p.n, top.data());
      loops.store(top.data(), p.bands.layout.pitch, w.out, p.rows, y.data());
      for (std::int64_t i = 0; i < p.rows * w.out; ++i) {
        float expected = -INFINITY;
        each_pixel_inside(h, w, i / w.out, i % w.out, [&](std::int64_t at, std::int64_t) {
          const float v = x[static_cast<std::size_t>(at)];
          if (v > expected || v != v) expected = v;
        });
        const float got = y[static_cast<std::size_t>(i)];
        ASSERT_TRUE(got == expected || (got != got && expected != expected)) << i;
        ASSERT_TRUE(got != got || std::signbit(got) == std::signbit(expected)) << i;
      }
    });
  }
}

TEST(Planes, SumsAndProductsOfEverySize) {
  std::vector<float> first_sums;
  for (const PlaneLoops& loops : all_plane_loops()) {
    std::vector<float> sums;
    for (const std::int64_t n : {1, 3, 4, 7, 15, 16, 17, 49, 100, 196, 255, 256, 257, 700, 12544}) {
      for (const std::int64_t rows : {1, 2, 15, 16, 17, 35}) {
        const std::vector<float> m = random_floats(rows * n, 5), x = random_floats(n, 6), bias = random_floats(rows, 7);
        std::vector<float> y(static_cast<std::size_t>(rows)), product(y);
        loops.sums(m.data(), rows, n, y.data());
        loops.matvec(m.data(), rows, n, x.data(), rows % 2 == 0 ? nullptr : bias.data(), product.data());
        for (std::int64_t i = 0; i < rows; ++i) {
          double sum = 0, sizes = 0, dot = rows % 2 == 0 ? 0.0 : bias[static_cast<std::size_t>(i)];
          for (std::int64_t k = 0; k < n; ++k) {
            const double v = m[static_cast<std::size_t>(i * n + k)];
            sum += v;
            sizes += std::abs(v);
            dot += v * x[static_cast<std::size_t>(k)];
          }
          ASSERT_NEAR(y[static_cast<std::size_t>(i)], sum, 1e-7 * sizes) << n;
          ASSERT_NEAR(product[static_cast<std::size_t>(i)], dot, 3e-7 * (1 + sizes)) << n;
        }
        sums.insert(sums.end(), y.begin(), y.end());
      }
    }
    if (first_sums.empty()) first_sums = sums;
    ASSERT_EQ(sums, first_sums) << "sums differ between instruction sets";
  }
}

TEST(Planes, WholeConvolutionsAndTheirFinishedParts) {
  for (const std::int64_t in : {1, 3}) {
    for (const std::int64_t out : {1, 2, 9}) {
      for (const std::int64_t groups : {1, 5}) {
        for (const std::int64_t size : {9, 70}) {
          const DirectConvolution c{
              {WindowAxis{}, plane_axis(size, 3, 2, 1, 1, 1), plane_axis(size + 1, 5, 1, 1, 2, 2)}, 2, groups, in, out};
          ASSERT_TRUE(is_direct(c));
          const WindowAxis &h = c.window[1], &w = c.window[2];
          const std::int64_t plane = h.out * w.out, channels = groups * out;
          const std::vector<float> x = random_floats(2 * groups * in * h.in * w.in, 8),
                                   weight = random_floats(channels * in * 15, 9);
          std::vector<float> y(static_cast<std::size_t>(2 * channels * plane), 7);
          std::vector<std::atomic<int>> finished(y.size());
          convolve(c, x.data(), weight.data(), nullptr, y.data(), [&](std::int64_t begin, std::int64_t count) {
            for (std::int64_t i = begin; i < begin + count; ++i) ++finished[static_cast<std::size_t>(i)];
          });
          for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
            const std::int64_t channel = i / plane, image = channel / channels, group = channel % channels / out;
            double expected = 0;
            for (std::int64_t k = 0; k < in; ++k) {
              each_pixel_inside(h, w, i % plane / w.out, i % w.out, [&](std::int64_t at, std::int64_t tap) {
                const std::int64_t from = ((image * groups + group) * in + k) * h.in * w.in + at;
                expected += static_cast<double>(x[static_cast<std::size_t>(from)]) *
                            weight[static_cast<std::size_t>((channel % channels * in + k) * 15 + tap)];
              });
            }
            ASSERT_NEAR(y[static_cast<std::size_t>(i)], expected, 5e-6) << i;
            ASSERT_EQ(finished[static_cast<std::size_t>(i)], 1) << i;
          }
        }
      }
    }
  }
}

/// Each channel of a volume under its own window, in double.
double volume_sum(const DirectConvolution& c, const std::vector<float>& x, const std::vector<float>& weight,
                  std::int64_t i) {
  const WindowAxis &d = c.window[0], &h = c.window[1], &w = c.window[2];
  const std::int64_t plane = h.out * w.out, channel = i / (plane * d.out), slice = i / plane % d.out;
  const std::int64_t image = channel / c.out, taps = cpu::plane(c.window, &WindowAxis::kernel);
  double sum = 0;
  for (std::int64_t k = 0; k < d.kernel; ++k) {
    const std::int64_t from = d.position(slice, k);
    if (from < 0 || from >= d.in) continue;
    each_pixel_inside(h, w, i % plane / w.out, i % w.out, [&](std::int64_t at, std::int64_t tap) {
      const std::int64_t row = channel % (c.groups * c.out) * taps + k * h.kernel * w.kernel + tap;
      sum += static_cast<double>(x[static_cast<std::size_t>((image * d.in + from) * h.in * w.in + at)]) *
             weight[static_cast<std::size_t>(row)];
    });
  }
  return sum;
}

TEST(Planes, VolumesAreThoseOfAPlainLoop) {
  for (const WindowAxis& d : {plane_axis(6, 1, 1, 1, 0, 0), plane_axis(6, 3, 1, 1, 1, 1), plane_axis(6, 3, 2, 1, 1, 1),
                              plane_axis(1, 3, 1, 1, 1, 1), plane_axis(5, 2, 1, 3, 3, 3), plane_axis(3, 2, 1, 1, 4, 5),
                              plane_axis(9, 7, 1, 1, 3, 3)}) {
    for (const WindowAxis& h :
         {plane_axis(9, 3, 1, 1, 1, 1), plane_axis(10, 5, 2, 1, 2, 2), plane_axis(70, 3, 1, 2, 2, 2)}) {
      for (const std::int64_t out : {1, 2, 9}) {
        const DirectConvolution c{{d, h, plane_axis(11, 3, 1, 1, 1, 1)}, 2, 3, 1, out};
        ASSERT_TRUE(is_direct(c));
        const std::int64_t channels = c.groups * out, volume = cpu::plane(c.window, &WindowAxis::out);
        const std::vector<float> x = random_floats(2 * c.groups * cpu::plane(c.window, &WindowAxis::in), 10),
                                 weight = random_floats(channels * cpu::plane(c.window, &WindowAxis::kernel), 11),
                                 bias = random_floats(channels, 12);
        std::vector<float> y(static_cast<std::size_t>(2 * channels * volume), 7);
        std::vector<std::atomic<int>> finished(y.size());
        convolve(c, x.data(), weight.data(), bias.data(), y.data(), [&](std::int64_t begin, std::int64_t count) {
          for (std::int64_t i = begin; i < begin + count; ++i) ++finished[static_cast<std::size_t>(i)];
        });
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
          const double expected = volume_sum(c, x, weight, i) + bias[static_cast<std::size_t>(i / volume % channels)];
          ASSERT_NEAR(y[static_cast<std::size_t>(i)], expected, 2e-5)
              << "window " << d.kernel << " " << d.padding_before << " at " << i;
          ASSERT_EQ(finished[static_cast<std::size_t>(i)], 1) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern::planes
