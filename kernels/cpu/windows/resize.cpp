// resize: a table per axis lists the input elements and weights of each output element; axes are resized in turn, the
// innermost first. Positions and weights equal PyTorch's CPU kernels.
#include "kernels/cpu/channels_last/resize.h"

#include <cmath>

#include "dtypes/checked.h"
#include "kernels/channels_last.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/windows/plane_io.h"
#include "kernels/cpu/windows/resize_table.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

template <class T>
struct Tables : KernelState {
  std::array<ResizeTable<T>, 3> axes;  ///< missing axes come first
};

bool in_double(const KernelCall& c) {
  return c.in[0].dtype == DType::f64 ||
         (c.in[0].dtype == DType::u8 && c.node->integer(AttrKey::mode) > static_cast<int>(ResizeMode::nearest_exact));
}

template <class T>
std::unique_ptr<Tables<T>> tables_of(const KernelCall& c) {
  auto r = std::make_unique<Tables<T>>();
  for (int axis = 2; axis < c.in[0].rank; ++axis) {
    ResizeTable<T>& t = r->axes[static_cast<std::size_t>(5 - c.in[0].rank + axis - 2)];
    t = resize_table<T>(c, axis);
    if constexpr (std::is_same_v<T, double>) {
      if (resizes_bytes(*c.node, c.in[0])) quantise(t.index, t.weight, t.out, t.taps);
    }
  }
  for (const ResizeTable<T>& t : r->axes)
    r->table_bytes += t.index.size() * sizeof(std::int64_t) + t.weight.size() * sizeof(T);
  return r;
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  if (c.out[0].numel() == 0) return nullptr;
  if (in_double(c)) return tables_of<double>(c);
  return tables_of<float>(c);
}

/// Rounds halves up.
template <class T>
void to_bytes(T* v, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) v[i] = std::clamp(std::floor(v[i] + T(0.5)), T(0), T(255));
}

template <class T>
void resize(KernelCall& c) {
  const bool image = resizes_bytes(*c.node, c.in[0]);
  std::unique_ptr<Tables<T>> own;
  const auto* tables = static_cast<const Tables<T>*>(c.state);
  if (tables == nullptr) {
    own = tables_of<T>(c);
    tables = own.get();
  }
  const TensorView &x = c.in[0], &y = c.out[0];
  std::int64_t in = 1, out = 1, widest = 1;
  for (const ResizeTable<T>& t : tables->axes) {
    in *= t.in;
    out *= t.out;
    widest *= std::max(t.in, t.out);
  }
  parallel_for(x.size(0) * x.size(1), grain_for(in + out), [&](std::int64_t begin, std::int64_t end) {
    T* buffers[2] = {thread_buffer<T>(static_cast<std::size_t>(widest), 0),
                     thread_buffer<T>(static_cast<std::size_t>(widest), 1)};
    for (std::int64_t p = begin; p < end; ++p) {
      const T* at = read_run(x, p * in, in, buffers[0]);
      int free = at == buffers[0] ? 1 : 0;
      std::array<std::int64_t, 3> size{tables->axes[0].in, tables->axes[1].in, tables->axes[2].in};
      for (std::size_t axis = 3; axis-- > 0;) {
        const ResizeTable<T>& t = tables->axes[axis];
        if (t.identity) continue;
        std::int64_t outer = 1, inner = 1;
        for (std::size_t i = 0; i < axis; ++i) outer *= size[i];
        for (std::size_t i = axis + 1; i < 3; ++i) inner *= size[i];
        apply(t, at, outer, inner, buffers[free]);
        if (image) to_bytes(buffers[free], outer * t.out * inner);
        at = buffers[free];
        free = 1 - free;
        size[axis] = t.out;
      }
      if (y.dtype == DType::u8) {
        auto* to = y.as<std::uint8_t>() + p * out;
        for (std::int64_t i = 0; i < out; ++i) to[i] = clamped_to<std::uint8_t>(std::nearbyint(at[i]));
      } else {
        convert(at, dtype_of_v<T>, y.data + p * out * element_size(y.dtype), y.dtype, out);
      }
    }
  });
}

/// True for channels-last images; antialiasing reads too many lines per result line.
bool makes_channels_last(const KernelCall& c) {
  return c.in[0].dtype == DType::f32 && is_channels_last(c.in[0]) && c.node->integer(AttrKey::antialias) == 0 &&
         c.out[0].numel() > 0;
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  if (is_channels_last(c.in[0]) || is_channels_last(c.out[0])) {
    const auto& axes = static_cast<const Tables<float>&>(*c.state).axes;
    return channels_last::resize(axes[1], axes[2], c.in[0].size(0), c.in[0].size(1), c.in[0].as<const float>(),
                                 c.out[0].as<float>());
  }
  if (in_double(c)) return resize<double>(c);
  resize<float>(c);
}

}  // namespace

Kernel resize_kernel() {
  return {.run = run, .prepare = prepare, .channels_last = makes_channels_last};
}

}  // namespace tern::cpu
