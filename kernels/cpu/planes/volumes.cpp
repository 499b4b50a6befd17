#include "kernels/cpu/planes/volumes.h"

#include <algorithm>

#include "kernels/cpu/planes/layout.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::planes {
namespace {

using cpu::WindowAxis;

constexpr std::int64_t kVolumesMostTaps = 1 << 12;
constexpr std::int64_t kSlices = 12 << 10;  // floats of a band of all slices: a first cache
constexpr std::size_t kVolumesInputSlot = 0, kVolumesResultSlot = 1;

}  // namespace

bool is_direct_volume(const DirectConvolution& c) {
  const WindowAxis &d = c.window[0], &h = c.window[1], &w = c.window[2];
  if (c.in != 1 || (c.groups == 1 && c.out >= kManyChannels) || d.in == 0 || d.out == 0) return false;
  for (const WindowAxis& a : {d, h, w}) {
    if (a.kernel > kVolumesMostTaps) return false;
  }
  const std::int64_t taps = cpu::plane(c.window, &WindowAxis::kernel);
  return taps > 1 && taps <= kVolumesMostTaps && has_bands({WindowAxis{}, h, w}, d.kernel);
}

void convolve_volumes(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
                      const Finished& finished) {
  const WindowAxis &d = c.window[0], &h = c.window[1], &w = c.window[2];
  const PlaneLoops& loops = plane_loops();
  const Bands bands = bands_of(h, w, d.kernel, kSlices, 1);
  const std::vector<std::int64_t> taps = taps_of(bands, h, w, d.kernel);
  const auto tap_count = static_cast<std::int64_t>(taps.size());
  const std::int64_t of_slice = h.kernel * w.kernel, plane_in = h.in * w.in, plane_out = h.out * w.out;
  const std::int64_t ld = (bands.positions(bands.rows, w.out) + kSlack - 1) / kSlack * kSlack;
  const std::int64_t floats = bands.channel * d.kernel + kMostTogether * kSlack;
  const std::int64_t cost = std::max<std::int64_t>(1, bands.rows * w.out * tap_count * c.out);
  parallel_for(c.batch * c.groups * d.out * bands.count, (kWorthAThread + cost - 1) / cost,
               [&](std::int64_t begin, std::int64_t end) {
                 float* padded = thread_buffer<float>(static_cast<std::size_t>(floats), kVolumesInputSlot);
                 float* sums = thread_buffer<float>(static_cast<std::size_t>(ld * loops.channels), kVolumesResultSlot);
                 std::fill_n(padded, floats, 0.0F);
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t image = i / bands.count / d.out, slice = i / bands.count % d.out,
                                      top = i % bands.count * bands.rows, rows = std::min(bands.rows, h.out - top);
                   std::int64_t first = 0, last = 0;
                   cpu::elements_inside(d, slice, &first, &last);
                   last = std::max(first, last);
                   for (std::int64_t k = first; k < last; ++k)
                     loops.load(bands.layout, x + (image * d.in + d.position(slice, k)) * plane_in, top * h.stride, 0,
                                padded + k * bands.channel);
                   for (std::int64_t k = 0; k < c.out; k += loops.channels) {
                     const std::int64_t count = std::min<std::int64_t>(loops.channels, c.out - k);
                     const std::int64_t channel = image % c.groups * c.out + k;
                     loops.convolve(padded, taps.data() + first * of_slice, (last - first) * of_slice,
                                    weight + channel * tap_count + first * of_slice, tap_count,
                                    bias == nullptr ? nullptr : bias + channel, static_cast<int>(count),
                                    bands.positions(rows, w.out), sums, ld);
                     for (std::int64_t j = 0; j < count; ++j) {
                       const std::int64_t at = ((image * c.out + k + j) * d.out + slice) * plane_out + top * w.out;
                       loops.store(sums + j * ld, bands.layout.pitch, w.out, rows, y + at);
                       if (finished) finished(at, rows * w.out);
                     }
                   }
                 }
               });
}

}  // namespace tern::planes
