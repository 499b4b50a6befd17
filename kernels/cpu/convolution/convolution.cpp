// convolution, in the way that the call asks for, else in the first of these that serves: channels last, where the
// planner laid the image so; planes, where each output has few input channels; matrix tiles; own products of floats;
// oneDNN for f32 and bf16 (and what widens to them); for other types, and what oneDNN cannot do, windows are copied
// into the columns of a matrix, which is multiplied by the weight.
#include "kernels/cpu/dnnl/convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/convolution/problem.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/planes/convolve.h"
#include "kernels/cpu/pointwise/epilogue.h"
#include "kernels/cpu/sgemm/convolve.h"
#include "kernels/cpu/convolution/tiles.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

/// Calls f(row, kd, kh, kw) for the rows of the matrix of windows of one channel.
template <class F>
void for_each_element(const Window& w, F&& f) {
  std::int64_t row = 0;
  for (std::int64_t d = 0; d < w[0].kernel; ++d) {
    for (std::int64_t h = 0; h < w[1].kernel; ++h) {
      for (std::int64_t k = 0; k < w[2].kernel; ++k) f(row++, d, h, k);
    }
  }
}

/// Row (element of the window) of the matrix of windows of one channel: the elements that it touches, output line by
/// line.
template <class F>
void for_each_line(const Window& w, std::int64_t d, std::int64_t h, std::int64_t begin, std::int64_t end, F&& f) {
  for (std::int64_t od = 0; od < w[0].out; ++od) {
    const std::int64_t id = w[0].position(od, d);
    for (std::int64_t oh = 0; oh < w[1].out; ++oh) {
      const std::int64_t line = od * w[1].out + oh;
      if (line < begin || line >= end) continue;
      const std::int64_t ih = w[1].position(oh, h);
      const bool inside = id >= 0 && id < w[0].in && ih >= 0 && ih < w[1].in;
      f(line, inside ? (id * w[1].in + ih) * w[2].in : -1);
    }
  }
}

template <class T>
void columns(const ConvolutionProblem& p, const T* x, std::int64_t begin, std::int64_t end, T* to) {
  const Window& w = p.window;
  const std::int64_t kernel = plane(w, &WindowAxis::kernel), width = w[2].out, ld = (end - begin) * width,
                     size = plane(w, &WindowAxis::in);
  parallel_for(p.in, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, kernel * ld)),
               [&](std::int64_t c0, std::int64_t c1) {
                 for (std::int64_t c = c0; c < c1; ++c) {
                   for_each_element(w, [&](std::int64_t row, std::int64_t d, std::int64_t h, std::int64_t k) {
                     T* out = to + (c * kernel + row) * ld;
                     std::int64_t inside = 0, outside = 0;
                     windows_inside(w[2], k, &inside, &outside);
                     const std::int64_t first = w[2].position(0, k);
                     for_each_line(w, d, h, begin, end, [&](std::int64_t line, std::int64_t from) {
                       T* at = out + (line - begin) * width;
                       if (from < 0) {
                         std::fill_n(at, width, T(0));
                         return;
                       }
                       const T* source = x + c * size + from + first;
                       std::fill_n(at, inside, T(0));
                       for (std::int64_t i = inside; i < outside; ++i) at[i] = source[i * w[2].stride];
                       std::fill(at + outside, at + width, T(0));
                     });
                   });
                 }
               });
}

/// Output lines that are made at a time, so that the columns stay near the second cache.
std::int64_t lines_at_a_time(const ConvolutionProblem& p) {
  const Window& w = p.window;
  const std::int64_t lines = w[0].out * w[1].out;
  const std::int64_t line = std::max<std::int64_t>(1, p.in * plane(w, &WindowAxis::kernel) * w[2].out);
  return std::clamp<std::int64_t>((1 << 18) / line, 1, std::max<std::int64_t>(lines, 1));
}

/// Channels of a group's result from which the own product is taken: oneDNN is better at depthwise convolutions.
constexpr std::int64_t kOwnChannels = 8;

/// Whether own products can do it.
bool is_own(const KernelCall& c) {
  return c.in[0].dtype == DType::f32 && c.in[1].dtype == DType::f32 && c.node->integer(AttrKey::transposed) == 0;
}

planes::DirectConvolution direct(const ConvolutionProblem& p) {
  return {p.window, p.batch, p.groups, p.in, p.out};
}

/// Depthwise, of few input channels, or of an image that is one window: by loops of its own.
bool is_direct(const KernelCall& c) {
  const DType type = c.in[0].dtype;
  return gemm_type(type) == DType::f32 && !(type == DType::bf16 && dnnl_cpu::native_bf16()) &&
         c.node->integer(AttrKey::transposed) == 0 && c.in[1].numel() != 0 &&
         planes::is_direct(direct(describe_convolution(c)));
}

/// How a call is done that neither has its channels last nor is on tiles nor oneDNN's: Way::none is by columns.
Way own_way(const KernelCall& c, Way wanted) {
  const bool direct = is_direct(c), own = is_own(c);
  if (direct && (wanted != Way::blocks || !own)) return Way::planes;
  const bool many = c.in[1].size(0) / std::max<std::int64_t>(1, c.node->integer(AttrKey::groups)) >= kOwnChannels;
  return own && (many || wanted == Way::blocks) ? Way::blocks : Way::none;
}

void forward_by_blocks(const ConvolutionProblem& p, const float* x, const float* weight, float* y) {
  const std::int64_t kernel = plane(p.window, &WindowAxis::kernel), in_size = plane(p.window, &WindowAxis::in),
                     out_size = plane(p.window, &WindowAxis::out);
  for (std::int64_t g = 0; g < p.batch * p.groups; ++g) {
    convolve({p.window, p.in, p.out}, x + g * p.in * in_size, weight + g % p.groups * p.out * p.in * kernel,
             y + g * p.out * out_size);
  }
}

template <class T>
void forward(const ConvolutionProblem& p, const T* x, const T* weight, T* y, T* buffer) {
  const Window& w = p.window;
  const std::int64_t lines = w[0].out * w[1].out, width = w[2].out, rows = p.in * plane(w, &WindowAxis::kernel),
                     step = lines_at_a_time(p);
  const std::int64_t in_size = plane(w, &WindowAxis::in);
  for (std::int64_t g = 0; g < p.batch * p.groups; ++g) {
    const T* xg = x + g * p.in * in_size;
    const T* wg = weight + g % p.groups * p.out * rows;
    T* yg = y + g * p.out * lines * width;
    for (std::int64_t begin = 0; begin < lines; begin += step) {
      const std::int64_t end = std::min(lines, begin + step), n = (end - begin) * width;
      columns(p, xg, begin, end, buffer);
      gemm<T>(p.out, n, rows, {wg, rows, 1}, {buffer, n, 1}, yg + begin * width, lines * width, true);
    }
  }
}

/// Channels of the result that the transposed convolution makes at a time.
std::int64_t channels_at_a_time(const ConvolutionProblem& p) {
  const std::int64_t one =
      std::max<std::int64_t>(1, plane(p.window, &WindowAxis::kernel) * plane(p.window, &WindowAxis::out));
  return std::clamp<std::int64_t>((1 << 20) / one, 1, std::max<std::int64_t>(p.out, 1));
}

template <class T>
void transposed(const ConvolutionProblem& p, const T* x, const T* weight, T* y, T* buffer) {
  const Window& w = p.window;
  const std::int64_t kernel = plane(w, &WindowAxis::kernel), lines = w[0].out * w[1].out, width = w[2].out,
                     n = lines * width;
  const std::int64_t size = plane(w, &WindowAxis::in), step = channels_at_a_time(p), row = p.out * kernel;
  for (std::int64_t g = 0; g < p.batch * p.groups; ++g) {
    const T* xg = x + g * p.in * n;
    const T* wg = weight + g % p.groups * p.in * row;
    for (std::int64_t begin = 0; begin < p.out; begin += step) {
      const std::int64_t count = std::min(step, p.out - begin);
      gemm<T>(count * kernel, n, p.in, {wg + begin * kernel, 1, row}, {xg, n, 1}, buffer, n, false);
      parallel_for(count, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, kernel * n)),
                   [&](std::int64_t c0, std::int64_t c1) {
                     for (std::int64_t c = c0; c < c1; ++c) {
                       T* yc = y + (g * p.out + begin + c) * size;
                       for_each_element(w, [&](std::int64_t element, std::int64_t d, std::int64_t h, std::int64_t k) {
                         const T* from = buffer + (c * kernel + element) * n;
                         std::int64_t inside = 0, outside = 0;
                         windows_inside(w[2], k, &inside, &outside);
                         const std::int64_t first = w[2].position(0, k);
                         for_each_line(w, d, h, 0, lines, [&](std::int64_t line, std::int64_t at) {
                           if (at < 0) return;
                           for (std::int64_t i = inside; i < outside; ++i) {
                             T& sum = yc[at + first + i * w[2].stride];
                             sum = plus(sum, from[line * width + i]);
                           }
                         });
                       });
                     }
                   });
    }
  }
}

channels_last::Convolution with_channels_last(const ConvolutionProblem& p) {
  return {p.window, p.batch, p.groups, p.in, p.out};
}

bool makes_channels_last(const KernelCall& c) {
  return c.node->integer(AttrKey::transposed) == 0 &&
         wants_channels_last(c, with_channels_last(describe_convolution(c)));
}

struct State : KernelState {
  std::unique_ptr<ChannelsLastConvolution> channels_last;  ///< or, with another epilogue:
  std::unique_ptr<pointwise::Epilogue> epilogue;
  std::unique_ptr<TileConvolution> tiles;  ///< or
  std::unique_ptr<dnnl_cpu::Convolution> convolution;
  DType dtype = DType::f32;
  bool constant_weight = false;
};

/// The state of a convolution that oneDNN makes, or null.
const State* dnnl_state(const KernelCall& c) {
  const auto* s = static_cast<const State*>(c.state);
  return s != nullptr && s->convolution != nullptr ? s : nullptr;
}

/// Whether some window may lie beside the image, or around it, with no element inside.
bool has_window_outside(const ConvolutionProblem& p) {
  return std::ranges::any_of(p.window, [](const WindowAxis& a) {
    return a.position(0, a.kernel - 1) < 0 || a.position(a.out - 1, 0) >= a.in || (a.kernel > 1 && a.dilation > a.in);
  });
}

std::unique_ptr<State> prepare_dnnl(const KernelCall& c) {
  const DType dtype = c.in[0].dtype;
  if (gemm_type(dtype) != DType::f32 || c.out[0].numel() == 0 || c.in[0].numel() == 0 || c.in[1].numel() == 0)
    return nullptr;
  const Node& node = *c.node;
  if (c.way != Way::onednn && own_way(c, c.way) != Way::none) return nullptr;
  // PyTorch makes transposed convolutions of volumes from columns too: the same order of sums, the same bits.
  if (node.integer(AttrKey::transposed) != 0 && c.in[0].rank == 5) return nullptr;
  // There oneDNN calls a kernel that it did not make (https://github.com/uxlfoundation/oneDNN/issues/5942).
  if (node.integer(AttrKey::transposed) == 0 && has_window_outside(describe_convolution(c))) return nullptr;
  dnnl_cpu::ConvolutionProblem p;
  p.dtype = dtype == DType::bf16 && dnnl_cpu::native_bf16() ? DType::bf16 : DType::f32;
  p.x.assign(c.in[0].shape().begin(), c.in[0].shape().end());
  p.y.assign(c.out[0].shape().begin(), c.out[0].shape().end());
  for (std::size_t i = 0; i + 2 < p.x.size(); ++i) {
    p.strides.push_back(node.integer_at(AttrKey::strides, i));
    p.dilations.push_back(node.integer_at(AttrKey::dilations, i));
    p.before.push_back(node.integer_at(AttrKey::before, i));
    p.after.push_back(node.integer_at(AttrKey::after, i));
    if (node.integer_at(AttrKey::output_pads, i) >= p.strides[i]) return nullptr;
  }
  p.groups = node.integer(AttrKey::groups);
  p.transposed = node.integer(AttrKey::transposed) != 0;
  p.bias = c.has(2);
  p.weight = c.in[1];
  make_contiguous(p.weight);
  auto state = std::make_unique<State>();
  state->way = Way::onednn;
  state->dtype = p.dtype;
  state->constant_weight = c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr;
  if (!state->constant_weight) p.weight.data = nullptr;
  p.access = c.weights;
  state->unread = state->constant_weight ? 1u << 1 : 0;
  state->convolution = dnnl_cpu::convolution(p);
  if (state->convolution == nullptr) return nullptr;
  return state;
}

std::unique_ptr<State> prepare_tiles(const KernelCall& c) {
  const bool others = c.way != Way::none && c.way != Way::tiles;
  if (others || c.node->integer(AttrKey::transposed) != 0 || (is_direct(c) && c.way == Way::none)) return nullptr;
  const ConvolutionProblem p = describe_convolution(c);
  auto tiles = TileConvolution::make(c, {p.window, p.batch, p.groups, p.in, p.out});
  if (tiles == nullptr) return nullptr;
  auto state = std::make_unique<State>();
  state->unread = tiles->is_packed() ? 1u << 1 : 0;
  state->way = Way::tiles;
  state->tiles = std::move(tiles);
  return state;
}

std::unique_ptr<State> prepare_channels_last(const KernelCall& c) {
  if (c.node->integer(AttrKey::transposed) != 0) return nullptr;
  auto made = ChannelsLastConvolution::make(c, with_channels_last(describe_convolution(c)));
  if (made == nullptr) return nullptr;
  auto state = std::make_unique<State>();
  state->unread = made->is_packed() ? 1u << 1 : 0;
  state->asks_ahead = made->asks_ahead();
  state->way = made->way();
  state->channels_last = std::move(made);
  return state;
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  if (auto state = prepare_channels_last(c)) return state;
  std::unique_ptr<State> state = prepare_tiles(c);
  if (state == nullptr) state = prepare_dnnl(c);
  if (state == nullptr) {
    state = std::make_unique<State>();
    state->way = own_way(c, c.way);
  }
  state->epilogue = pointwise::Epilogue::make(c);
  return state;
}

/// How sums are made that are not oneDNN's: as prepared, or instead of tiles that cannot.
Way way_of_sums(const KernelCall& c) {
  const Way way = c.state != nullptr ? c.state->way : Way::none;
  return way == Way::planes || way == Way::blocks ? way : own_way(c, Way::none);
}

/// Operands in the type of the sums; a part is null where the operand has that type already.
struct Buffers {
  std::byte *x = nullptr, *weight = nullptr, *bias = nullptr, *y = nullptr, *work = nullptr;
};

Buffers buffers(const KernelCall& c, DType type, bool weight, std::int64_t work, ScratchParts& parts) {
  const std::int64_t size = element_size(type);
  Buffers b;
  if (c.in[0].dtype != type) {
    b.x = parts.take<std::byte>(c.in[0].numel() * size);
    if (weight) b.weight = parts.take<std::byte>(c.in[1].numel() * size);
    if (c.has(2)) b.bias = parts.take<std::byte>(c.in[2].numel() * size);
    b.y = parts.take<std::byte>(c.out[0].numel() * size);
  }
  b.work = parts.take<std::byte>(work);
  return b;
}

Buffers buffers(const KernelCall& c, ScratchParts& parts) {
  if (const State* s = dnnl_state(c)) {
    return buffers(c, s->dtype, !s->constant_weight, static_cast<std::int64_t>(s->convolution->scratch()), parts);
  }
  const ConvolutionProblem p = describe_convolution(c);
  const DType type = gemm_type(c.in[0].dtype);
  const std::int64_t kernel = plane(p.window, &WindowAxis::kernel);
  if (way_of_sums(c) != Way::none) return buffers(c, type, true, 0, parts);
  const std::int64_t work = p.transposed ? channels_at_a_time(p) * kernel * plane(p.window, &WindowAxis::out)
                                         : lines_at_a_time(p) * p.window[2].out * p.in * kernel;
  return buffers(c, type, true, work * element_size(type), parts);
}

const TileConvolution* tiles_of(const KernelCall& c) {
  const auto* s = static_cast<const State*>(c.state);
  return s != nullptr ? s->tiles.get() : nullptr;
}

std::size_t scratch(const KernelCall& c) {
  if (const auto* s = static_cast<const State*>(c.state); s != nullptr && s->channels_last != nullptr)
    return s->channels_last->scratch();
  ScratchParts parts;
  if (const TileConvolution* t = tiles_of(c)) parts.take<std::byte>(static_cast<std::int64_t>(t->scratch()));
  buffers(c, parts);
  return parts.used();
}

/// Operand `i` in `type`: itself, or converted into `buffer`.
const std::byte* operand(const KernelCall& c, std::size_t i, DType type, std::byte* buffer) {
  if (!c.has(i)) return nullptr;
  if (c.in[i].dtype == type) return c.in[i].data;
  if (buffer != nullptr) to_dense(c.in[i], type, buffer);
  return buffer;
}

/// The epilogue on elements [begin, begin + count) of the result: as a block of whole planes where they are such, since
/// operands are mostly the same all over a channel's plane.
void apply_by_planes(const KernelCall& c, const pointwise::Epilogue& epilogue, std::int64_t begin, std::int64_t count) {
  const TensorView& y = c.out[0];
  const std::int64_t plane = y.numel() / (y.size(0) * y.size(1));
  while (count > 0) {
    const std::int64_t at = begin % plane, rows = at == 0 ? std::max<std::int64_t>(1, count / plane) : 1;
    const std::int64_t columns = std::min(count, plane - at);
    epilogue.apply_block(c, y.as<float>() + begin, plane, rows, columns, begin, plane);
    begin += rows * columns;
    count -= rows * columns;
  }
}

/// Applies the epilogue too, and returns true, where that is done piece by piece.
bool run_sums(KernelCall& c, const pointwise::Epilogue* epilogue) {
  const TensorView& y = c.out[0];
  Scratch own(c, scratch(c));
  ScratchParts parts(own.data());
  if (const TileConvolution* t = tiles_of(c)) {
    if (t->run(c, epilogue, parts.take<std::byte>(static_cast<std::int64_t>(t->scratch())))) return true;
  }
  const Buffers at = buffers(c, parts);
  const State* s = dnnl_state(c);
  const Way way = s != nullptr ? Way::onednn : way_of_sums(c);
  const bool by_planes = way == Way::planes;
  const DType type = s != nullptr ? s->dtype : gemm_type(y.dtype);
  const std::byte* x = operand(c, 0, type, at.x);
  const std::byte* weight = operand(c, 1, type, at.weight);
  std::vector<float> exported;
  if (const TileConvolution* t = tiles_of(c); t != nullptr && t->is_packed()) {
    exported.resize(static_cast<std::size_t>(c.in[1].numel()));
    t->unpack(exported.data());
    weight = reinterpret_cast<const std::byte*>(exported.data());
  }
  const std::byte* bias = operand(c, 2, type, at.bias);
  std::byte* sums = at.y != nullptr ? at.y : y.data;
  if (s != nullptr) {
    s->convolution->run(x, weight, bias, sums, at.work);
  } else if (by_planes) {
    const auto floats = [](const std::byte* b) { return reinterpret_cast<const float*>(b); };
    planes::Finished finished;
    if (epilogue != nullptr) {
      finished = [&](std::int64_t begin, std::int64_t count) { apply_by_planes(c, *epilogue, begin, count); };
    }
    planes::convolve(direct(describe_convolution(c)), floats(x), floats(weight), floats(bias),
                     reinterpret_cast<float*>(sums), finished);
  } else {
    visit_gemm_type(type, [&](auto tag) {
      using T = decltype(tag);
      const ConvolutionProblem p = describe_convolution(c);
      auto* to = reinterpret_cast<T*>(sums);
      // PyTorch adds the bias last where the products are scattered, and first where they are summed.
      const std::int64_t size = y.numel() / (y.size(0) * y.size(1));
      const auto line_bias = [&](std::int64_t line) {
        return bias == nullptr ? T(0) : reinterpret_cast<const T*>(bias)[line % y.size(1)];
      };
      const std::int64_t lines = y.size(0) * y.size(1);
      for (std::int64_t i = 0; i < lines; ++i) std::fill_n(to + i * size, size, p.transposed ? T(0) : line_bias(i));
      if (c.in[0].numel() != 0 && c.in[1].numel() != 0) {
        const auto *from = reinterpret_cast<const T*>(x), *w = reinterpret_cast<const T*>(weight);
        if (way == Way::blocks) {
          if constexpr (std::is_same_v<T, float>) forward_by_blocks(p, from, w, to);
        } else {
          (p.transposed ? transposed<T> : forward<T>)(p, from, w, to, reinterpret_cast<T*>(at.work));
        }
      }
      for (std::int64_t i = 0; p.transposed && bias != nullptr && i < lines; ++i) {
        for (std::int64_t k = 0; k < size; ++k) {
          T& sum = to[i * size + k];
          sum = plus(sum, line_bias(i));
        }
      }
    });
  }
  if (at.y != nullptr) from_dense(sums, type, y);
  return by_planes;
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  const auto* s = static_cast<const State*>(c.state);
  if (s != nullptr && s->channels_last != nullptr) {
    Scratch own(c, s->channels_last->scratch());
    return s->channels_last->run(c, own.data());
  }
  const pointwise::Epilogue* epilogue = s != nullptr ? s->epilogue.get() : nullptr;
  if (!run_sums(c, epilogue) && epilogue != nullptr) epilogue->apply(c);
}

constexpr Way kWays[] = {Way::tiles,
                         Way::channels_last,
                         Way::channels_last_lines,
                         Way::channels_last_columns,
                         Way::channels_last_shallow,
                         Way::channels_last_deep,
                         Way::winograd,
                         Way::planes,
                         Way::blocks,
                         Way::onednn};

}  // namespace

Kernel convolution_kernel() {
  return {.run = run,
          .scratch = scratch,
          .prepare = prepare,
          .strided = ~0b111u,
          .channels_last = makes_channels_last,
          .defers_weights = true,
          .ways = kWays};
}

}  // namespace tern::cpu
