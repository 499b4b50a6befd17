// gather, index_select and index: copy elements or whole rows from positions.
#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/strided.h"
#include "threads/parallel.h"

namespace tern {
namespace {

/// Calls f with the unsigned type of `size` bytes.
template <class F>
void visit_size(std::int64_t size, F&& f) {
  switch (size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(Bytes16{});
  }
}

/// Copies row `from` to row `to` between tables with equal row sizes.
class RowCopy {
 public:
  RowCopy(const std::byte* from, std::byte* to, std::int64_t bytes) : from_(from), to_(to), bytes_(bytes) {}
  void operator()(std::int64_t from, std::int64_t to) const {
    const std::byte* f = from_ + from * bytes_;
    std::byte* t = to_ + to * bytes_;
    // Constant lengths compile to single moves.
    switch (bytes_) {
      case 1: *t = *f; break;
      case 2: std::memcpy(t, f, 2); break;
      case 4: std::memcpy(t, f, 4); break;
      case 8: std::memcpy(t, f, 8); break;
      case 16: std::memcpy(t, f, 16); break;
      default: std::memcpy(t, f, static_cast<std::size_t>(bytes_));
    }
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  std::int64_t bytes_;
};

std::int64_t product(const TensorView& v, int first, int last) {
  std::int64_t n = 1;
  for (int i = first; i < last; ++i) n *= v.size(i);
  return n;
}

}  // namespace

void cpu_gather(KernelCall& c) {
  const TensorView &x = c.in[0], &index = c.in[1], &out = c.out[0];
  if (index.numel() == 0) return;
  const Positions positions(index);
  const int axis = axis_of(*c.node, x.rank), last = x.rank - 1;
  const std::int64_t along = x.size(axis), step = x.stride(axis);
  CollapsedAxes from;
  for (int i = 0; i < last; ++i) from.add(index.size(i), i == axis ? 0 : x.stride(i));
  const std::int64_t n = index.size(last), each = last == axis ? 0 : x.stride(last);
  visit_size(element_size(x.dtype), [&]<class T>(T) {
    const T* data = x.as<T>();
    T* to = out.as<T>();
    parallel_for(from.count, grain_for(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const T* base = data + from.offset(t);
        for (std::int64_t j = 0; j < n; ++j) to[t * n + j] = base[j * each + positions.at(t * n + j, along) * step];
      }
    });
  });
}

void cpu_index_select(KernelCall& c) {
  const TensorView &x = c.in[0], &index = c.in[1], &out = c.out[0];
  if (out.numel() == 0) return;
  if (x.blocks.columns != 0) return cpu_select_quantized_rows(c);
  const Positions positions(index);
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t along = x.size(axis), count = index.numel(), inner = product(x, axis + 1, x.rank);
  const RowCopy copy(x.data, out.data, inner * element_size(x.dtype));
  parallel_for(product(x, 0, axis) * count, grain_for(inner), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) copy(t / count * along + positions.at(t % count, along), t);
  });
}

void cpu_index(KernelCall& c) {
  const TensorView &x = c.in[0], &out = c.out[0];
  if (out.numel() == 0) return;
  const int k = static_cast<int>(c.in.size()) - 1;
  std::vector<Positions> positions;
  for (int i = 0; i < k; ++i) positions.emplace_back(c.in[static_cast<std::size_t>(i + 1)]);
  const std::int64_t inner = product(x, k, x.rank);
  const RowCopy copy(x.data, out.data, inner * element_size(x.dtype));
  parallel_for(c.in[1].numel(), grain_for(inner * k), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      std::int64_t row = 0;
      for (int i = 0; i < k; ++i) row = row * x.size(i) + positions[static_cast<std::size_t>(i)].wrapped(t, x.size(i));
      copy(row, t);
    }
  });
}

}  // namespace tern
