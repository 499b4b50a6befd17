#include "kernels/cpu/channels_last/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/sgemm/micro.h"

namespace tern::channels_last {
namespace {

std::vector<float> pack(const Convolution& c, std::int64_t row, const float* weight) {
  const sgemm_micro::MicroKernels& micro = sgemm_micro::micro_kernels();
  const std::int64_t panels = (c.out + micro.columns - 1) / micro.columns, size = row * micro.columns;
  std::vector<float> packed(static_cast<std::size_t>(c.groups * panels * size));
  float* to = packed.data();
  for (std::int64_t g = 0; g < c.groups; ++g) {
    for (std::int64_t p = 0; p < panels; ++p, to += size) {
      const std::int64_t first = p * micro.columns, count = std::min<std::int64_t>(micro.columns, c.out - first);
      micro.pack(weight + (g * c.out + first) * row, 1, row, row, static_cast<int>(count), to);
    }
  }
  return packed;
}

}  // namespace

const float* stored_panels(const KernelCall& call, const Convolution& c) {
  if (call.weights == nullptr || call.constant == nullptr || !call.constant[1] || c.depthwise()) return nullptr;
  const std::int64_t columns = sgemm_micro::micro_kernels().columns,
                     row = c.in * cpu::plane(c.window, &cpu::WindowAxis::kernel),
                     floats = c.groups * ((c.out + columns - 1) / columns) * columns * row;
  const std::string key = fmt::format("panels of {}: {} x {} of {}", columns, c.groups, c.out, row);
  const auto stored = call.weights->packed(1, key);
  if (stored.size() == static_cast<std::size_t>(floats) * sizeof(float) &&
      reinterpret_cast<std::uintptr_t>(stored.data()) % alignof(float) == 0)
    return reinterpret_cast<const float*>(stored.data());
  if (call.weights->collects() && call.in[1].data != nullptr) {
    call.weights->fetch(1);
    const std::vector<float> packed = pack(c, row, call.in[1].as<const float>());
    call.weights->offer(1, key, std::as_bytes(std::span(packed)));
  }
  return nullptr;
}

}  // namespace tern::channels_last
