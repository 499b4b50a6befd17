// resize: a table per axis lists the input elements and weights of each output element; axes are resized in turn, the
// innermost first. Positions and weights equal PyTorch's CPU kernels.
#include "kernels/cpu/channels_last/resize.h"

#include <cmath>

#include "dtypes/checked.h"
#include "dtypes/levels.h"
#include "kernels/channels_last.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/windows/plane_io.h"
#include "kernels/cpu/windows/resize_table.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

template <class T>
struct ResizeTables : KernelState {
  std::array<ResizeTable<T>, 3> axes;  ///< depth, height, width; missing axes come first, as identities
  std::array<int, 3> precision{};      ///< integer weights are multiples of 2^-precision
};

bool computes_in_double(const KernelCall& c) {
  return c.in[0].dtype == DType::f64 ||
         (c.in[0].dtype == DType::u8 && c.node->integer(AttrKey::mode) > static_cast<int>(ResizeMode::nearest_exact));
}

/// Byte images have weights of 15 bits and a sum of weights below 2^23, so int32 holds all sums exactly.
ResizeTable<std::int32_t> integer_table(ResizeTable<double>&& t, int* precision) {
  *precision = t.identity ? 0 : quantise(t.index, t.weight, t.out, t.taps);
  ResizeTable<std::int32_t> integers;
  integers.in = t.in;
  integers.out = t.out;
  integers.taps = t.taps;
  integers.identity = t.identity;
  integers.index = std::move(t.index);
  for (const double w : t.weight) integers.weight.push_back(static_cast<std::int32_t>(std::ldexp(w, *precision)));
  return integers;
}

template <class T>
std::unique_ptr<ResizeTables<T>> make_tables(const KernelCall& c) {
  auto tables = std::make_unique<ResizeTables<T>>();
  for (int axis = 2; axis < c.in[0].rank; ++axis) {
    const auto place = static_cast<std::size_t>(5 - c.in[0].rank + axis - 2);
    if constexpr (std::is_same_v<T, std::int32_t>) {
      tables->axes[place] = integer_table(resize_table<double>(c, axis), &tables->precision[place]);
    } else {
      tables->axes[place] = resize_table<T>(c, axis);
    }
  }
  for (const ResizeTable<T>& t : tables->axes)
    tables->table_bytes += t.index.size() * sizeof(std::int64_t) + t.weight.size() * sizeof(T);
  return tables;
}

std::unique_ptr<KernelState> prepare_resize(const KernelCall& c) {
  if (c.out[0].numel() == 0) return nullptr;
  if (resizes_bytes(*c.node, c.in[0])) return make_tables<std::int32_t>(c);
  if (computes_in_double(c)) return make_tables<double>(c);
  return make_tables<float>(c);
}

/// Rounds multiples of 2^-precision to integers, halves up, and clamps to 0 .. 255.
void round_to_bytes(std::int32_t* v, std::int64_t n, int precision) {
  const std::int32_t half = (std::int32_t{1} << precision) >> 1;
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) v[i] = std::clamp((v[i] + half) >> precision, 0, 255);
  });
}

template <class T>
void resize(KernelCall& c) {
  std::unique_ptr<ResizeTables<T>> built_tables;
  const auto* tables = static_cast<const ResizeTables<T>*>(c.state);
  if (tables == nullptr) {
    built_tables = make_tables<T>(c);
    tables = built_tables.get();
  }
  const TensorView &x = c.in[0], &y = c.out[0];
  std::int64_t in_elements = 1, out_elements = 1, max_elements = 1;
  for (const ResizeTable<T>& t : tables->axes) {
    in_elements *= t.in;
    out_elements *= t.out;
    max_elements *= std::max(t.in, t.out);
  }
  parallel_for(x.size(0) * x.size(1), grain_for(in_elements + out_elements), [&](std::int64_t begin, std::int64_t end) {
    T* buffers[2] = {thread_buffer<T>(static_cast<std::size_t>(max_elements), 0),
                     thread_buffer<T>(static_cast<std::size_t>(max_elements), 1)};
    for (std::int64_t channel = begin; channel < end; ++channel) {
      const T* source = read_run(x, channel * in_elements, in_elements, buffers[0]);
      int free_buffer = source == buffers[0] ? 1 : 0;
      std::array<std::int64_t, 3> size{tables->axes[0].in, tables->axes[1].in, tables->axes[2].in};
      for (std::size_t axis = 3; axis-- > 0;) {
        const ResizeTable<T>& t = tables->axes[axis];
        if (t.identity) continue;
        std::int64_t outer = 1, inner = 1;
        for (std::size_t i = 0; i < axis; ++i) outer *= size[i];
        for (std::size_t i = axis + 1; i < 3; ++i) inner *= size[i];
        apply(t, source, outer, inner, buffers[free_buffer]);
        if constexpr (std::is_same_v<T, std::int32_t>)
          round_to_bytes(buffers[free_buffer], outer * t.out * inner, tables->precision[axis]);
        source = buffers[free_buffer];
        free_buffer = 1 - free_buffer;
        size[axis] = t.out;
      }
      if constexpr (std::is_same_v<T, std::int32_t>) {
        std::copy_n(source, out_elements, y.data_as<std::uint8_t>() + channel * out_elements);
      } else if (y.dtype == DType::u8) {
        auto* target = y.data_as<std::uint8_t>() + channel * out_elements;
        for (std::int64_t i = 0; i < out_elements; ++i) target[i] = clamped_to<std::uint8_t>(std::nearbyint(source[i]));
      } else {
        convert(source, dtype_of_v<T>, y.data + channel * out_elements * element_size(y.dtype), y.dtype, out_elements);
      }
    }
  });
}

/// True for channels-last images, no volumes; antialiasing reads too many lines per result line.
bool supports_channels_last(const KernelCall& c) {
  return c.in[0].dtype == DType::f32 && c.in[0].rank < 5 && is_channels_last(c.in[0]) &&
         c.node->integer(AttrKey::antialias) == 0 && c.out[0].numel() > 0;
}

void run_resize(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  if (is_channels_last(c.in[0]) || is_channels_last(c.out[0])) {
    const auto& axes = static_cast<const ResizeTables<float>&>(*c.state).axes;
    return channels_last::resize(axes[1], axes[2], c.in[0].size(0), c.in[0].size(1), c.in[0].data_as<const float>(),
                                 c.out[0].data_as<float>());
  }
  if (resizes_bytes(*c.node, c.in[0])) return resize<std::int32_t>(c);
  if (computes_in_double(c)) return resize<double>(c);
  resize<float>(c);
}

}  // namespace

Kernel resize_kernel() {
  return {.run = run_resize, .prepare = prepare_resize, .channels_last = supports_channels_last};
}

}  // namespace tern::cpu
