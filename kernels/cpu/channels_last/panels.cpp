#include "kernels/cpu/channels_last/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/cpu/products/float32/strided_microkernel.h"

namespace tern::channels_last {
namespace {

std::int64_t products(const ChannelsLastShape& c) {
  return c.in * cpu::plane(c.window, &cpu::WindowAxis::kernel);
}

std::vector<float> pack(const ChannelsLastShape& c, std::int64_t row, const float* weight) {
  const strided_product::StridedMicroKernels& micro = strided_product::micro_kernels();
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

/// Identifies the order of a weight, with its size.
struct WeightOrder {
  std::string key;
  std::int64_t floats;
};
WeightOrder order_of(const ChannelsLastShape& c) {
  const std::int64_t row = products(c);
  if (goes_by_channels(c)) {
    const std::int64_t channels = c.groups * c.out;
    return {fmt::format("elements of {} channels: {}", channels, row), channels * row};
  }
  const std::int64_t columns = strided_product::micro_kernels().columns;
  return {fmt::format("panels of {}{}: {} x {} of {}", columns, c.multiplies_lines() ? " by lines" : "", c.groups,
                      c.out, row),
          panel_floats(c)};
}

std::vector<float> arranged(const ChannelsLastShape& c, const float* weight) {
  const std::int64_t row = products(c);
  if (!goes_by_channels(c)) return make_panels(c, weight);
  const std::int64_t channels = c.groups * c.out;
  std::vector<float> elements(static_cast<std::size_t>(channels * row));
  for (std::int64_t i = 0; i < channels; ++i) {
    for (std::int64_t t = 0; t < row; ++t) elements[static_cast<std::size_t>(t * channels + i)] = weight[i * row + t];
  }
  return elements;
}

}  // namespace

std::int64_t panel_floats(const ChannelsLastShape& c) {
  const std::int64_t columns = strided_product::micro_kernels().columns;
  return c.groups * ((c.out + columns - 1) / columns) * columns * products(c);
}

std::vector<float> make_panels(const ChannelsLastShape& c, const float* weight) {
  return pack(c, products(c), c.multiplies_lines() ? weight_by_lines(c, weight).data() : weight);
}

std::vector<float> weight_by_lines(const ChannelsLastShape& c, const float* weight) {
  const std::int64_t taps = cpu::plane(c.window, &cpu::WindowAxis::kernel), width = c.window[2].kernel,
                     lines = taps / width;
  std::vector<float> to;
  to.reserve(static_cast<std::size_t>(c.out * c.in * taps));
  for (std::int64_t o = 0; o < c.out; ++o) {
    for (std::int64_t w = 0; w < width; ++w) {
      for (std::int64_t i = 0; i < c.in; ++i) {
        for (std::int64_t h = 0; h < lines; ++h) to.push_back(weight[((o * c.in + i) * lines + h) * width + w]);
      }
    }
  }
  return to;
}

const float* stored_panels(const KernelCall& call, const ChannelsLastShape& c) {
  if (call.weights == nullptr || call.constant == nullptr || !call.constant[1]) return nullptr;
  const WeightOrder order = order_of(c);
  const auto stored = call.weights->packed(1, order.key);
  if (stored.size() == static_cast<std::size_t>(order.floats) * sizeof(float) &&
      reinterpret_cast<std::uintptr_t>(stored.data()) % alignof(float) == 0)
    return reinterpret_cast<const float*>(stored.data());
  if (const auto* weight = call.in[1].data_as<const float>(); weight != nullptr) {
    call.weights->offer(1, order.key, [c, weight] {
      const std::vector<float> made = arranged(c, weight);
      const auto bytes = std::as_bytes(std::span(made));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    });
  }
  return nullptr;
}

std::shared_ptr<const float> constant_panels(const KernelCall& call, const ChannelsLastShape& c) {
  constexpr std::int64_t kMostFloats = std::int64_t{4} << 20;
  if (const float* stored = stored_panels(call, c)) return {std::shared_ptr<const float>(), stored};
  const WeightOrder order = order_of(c);
  const bool is_constant = call.weights != nullptr && call.constant != nullptr && call.constant[1];
  if (!is_constant || call.in[1].data == nullptr || order.floats > kMostFloats) return nullptr;
  return std::static_pointer_cast<const float>(call.weights->share(1, order.key, [&]() -> std::shared_ptr<const void> {
    call.weights->fetch(1);
    auto made = std::make_shared<const std::vector<float>>(arranged(c, call.in[1].data_as<const float>()));
    return {made, made->data()};
  }));
}

}  // namespace tern::channels_last
