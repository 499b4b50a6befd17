// index_put and scatter: write at positions. An in-place call touches the written elements only.
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/strided.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Adds n values to the contiguous elements at `target`; rounds each sum to the type.
template <class L>
void add_run(const L* values, std::byte* target, DType dtype, std::int64_t n) {
  RunReader<L> reader(dtype);
  RunWriter<L> writer(dtype);
  const L* previous = reader.read(target, 1, n);
  L* sums = writer.begin(target, 1);
  for (std::int64_t i = 0; i < n; ++i) sums[i] = plus(previous[i], values[i]);
  writer.end(target, 1, n);
}

}  // namespace

void cpu_index_put(KernelCall& c) {
  start_from_input(c);
  const TensorView &values = c.in[1], &out = c.out[0];
  const int indexed_axes = static_cast<int>(c.in.size()) - 2, index_rank = c.in[2].rank;
  std::vector<Positions> positions;
  for (int i = 0; i < indexed_axes; ++i) positions.emplace_back(c.in[static_cast<std::size_t>(i + 2)]);
  // The target's shape is the shape of the indices (axes of `target_rows`), then the remaining axes of x (`row_axes`);
  // values are broadcast to this shape.
  CollapsedAxes target_rows, row_axes;
  const int target_rank = index_rank + out.rank - indexed_axes, broadcast_axes = target_rank - values.rank;
  for (int i = 0; i < target_rank; ++i) {
    const std::int64_t size = i < index_rank ? c.in[2].size(i) : out.size(i - index_rank + indexed_axes);
    const bool repeats = i < broadcast_axes || values.size(i - broadcast_axes) == 1;
    (i < index_rank ? target_rows : row_axes).add(size, repeats ? 0 : values.stride(i - broadcast_axes));
  }
  if (target_rows.count == 0 || row_axes.count == 0) return;
  const std::int64_t size = element_size(out.dtype), run_length = row_axes.inner_size();
  const auto for_each_run = [&](auto&& write) {
    for (std::int64_t index_row = 0; index_row < target_rows.count; ++index_row) {
      std::int64_t target_row = 0;
      for (int i = 0; i < indexed_axes; ++i)
        target_row = target_row * out.size(i) + positions[static_cast<std::size_t>(i)].wrapped(index_row, out.size(i));
      const std::byte* source = values.data + target_rows.offset(index_row) * size;
      std::byte* target = out.data + target_row * row_axes.count * size;
      for (std::int64_t j = 0; j < row_axes.count; j += run_length)
        write(source + row_axes.offset(j) * size, target + j * size);
    }
  };
  if (c.node->integer(AttrKey::accumulate) == 0) {
    for_each_run([&](const std::byte* source, std::byte* target) {
      gather_run(source, row_axes.inner_stride(), target, run_length, static_cast<int>(size));
    });
    return;
  }
  visit_compute(number_type(out.dtype), [&]<class L>(std::type_identity<L>) {
    if (out.dtype == dtype_of_v<L>) {
      const std::int64_t stride = row_axes.inner_stride();
      for_each_run([&](const std::byte* source, std::byte* target) {
        const L* values = reinterpret_cast<const L*>(source);
        L* sums = reinterpret_cast<L*>(target);
        for (std::int64_t i = 0; i < run_length; ++i) sums[i] = plus(sums[i], values[i * stride]);
      });
      return;
    }
    RunReader<L> reader(out.dtype);
    for_each_run([&](const std::byte* source, std::byte* target) {
      for (std::int64_t j = 0; j < run_length; j += kRun) {
        const std::int64_t count = std::min(kRun, run_length - j);
        add_run(reader.read(source + j * row_axes.inner_stride() * size, row_axes.inner_stride(), count),
                target + j * size, out.dtype, count);
      }
    });
  });
}

namespace {

/// Calls write(offset in out, offset in src), in elements, for each entry of the index.
template <class Write>
void for_each_entry(const KernelCall& c, const TensorView& src, Write&& write) {
  const TensorView &index = c.in[1], &out = c.out[0];
  const Positions positions(index);
  const int axis = axis_of(*c.node, out.rank), last_axis = out.rank - 1;
  const std::int64_t axis_size = out.size(axis), axis_stride = out.stride(axis);
  CollapsedAxes out_outer, src_outer;
  for (int i = 0; i < last_axis; ++i) {
    out_outer.add(index.size(i), i == axis ? 0 : out.stride(i));
    src_outer.add(index.size(i), src.rank == 0 ? 0 : src.stride(i));
  }
  const std::int64_t columns = index.size(last_axis), out_stride = last_axis == axis ? 0 : out.stride(last_axis);
  const std::int64_t src_stride = src.rank == 0 ? 0 : src.stride(last_axis);
  for (std::int64_t row = 0; row < out_outer.count; ++row) {
    const std::int64_t out_base = out_outer.offset(row), src_base = src_outer.offset(row);
    positions.visit(row * columns, [&](const auto* entries) {
      for (std::int64_t column = 0; column < columns; ++column) {
        write(out_base + column * out_stride + Positions::checked(entries[column], axis_size) * axis_stride,
              src_base + column * src_stride);
      }
    });
  }
}

template <class T>
void set_elements(const KernelCall& c) {
  T* out_data = c.out[0].data_as<T>();
  const T* src_data = c.in[2].data_as<T>();
  for_each_entry(c, c.in[2], [&](std::int64_t out_offset, std::int64_t src_offset) {
    out_data[out_offset] = src_data[src_offset];
  });
}

/// Identity of the reduction: combine(kind, identity, v) is v.
template <class L>
L identity(ScatterKind kind) {
  if (kind == ScatterKind::prod) return L(1);
  if constexpr (!is_std_complex_v<L>) {
    using N = std::numeric_limits<L>;
    if (kind == ScatterKind::max) return N::has_infinity ? -N::infinity() : N::lowest();
    if (kind == ScatterKind::min) return N::has_infinity ? N::infinity() : N::max();
  }
  return L{};
}

/// Sum and mean are both `sum`.
template <ScatterKind kKind, class L>
L combine(L a, L v) {
  using A = std::conditional_t<std::is_integral_v<L>, std::uint64_t, L>;
  if constexpr (kKind == ScatterKind::prod) {
    return static_cast<L>(times(static_cast<A>(a), static_cast<A>(v)));
  } else if constexpr (kKind == ScatterKind::max) {
    if constexpr (!is_std_complex_v<L>) return is_nan(a) || a > v ? a : v;
    return a;
  } else if constexpr (kKind == ScatterKind::min) {
    if constexpr (!is_std_complex_v<L>) return is_nan(a) || a < v ? a : v;
    return a;
  } else {
    return plus(a, v);
  }
}

/// Calls f with the kind as a constant.
template <class F>
void visit_kind(ScatterKind kind, F&& f) {
  switch (kind) {
    case ScatterKind::prod: return f(std::integral_constant<ScatterKind, ScatterKind::prod>{});
    case ScatterKind::max: return f(std::integral_constant<ScatterKind, ScatterKind::max>{});
    case ScatterKind::min: return f(std::integral_constant<ScatterKind, ScatterKind::min>{});
    default: return f(std::integral_constant<ScatterKind, ScatterKind::sum>{});
  }
}

/// sum / count; integers round toward minus infinity.
template <class L>
L mean_of(L sum, std::int64_t count) {
  if constexpr (std::is_integral_v<L>) {
    const L n = static_cast<L>(count), q = sum / n;
    return sum % n != 0 && sum < 0 ? q - 1 : q;
  } else if constexpr (is_std_complex_v<L>) {
    return sum / static_cast<typename L::value_type>(count);
  } else {
    return sum / static_cast<L>(count);
  }
}

/// A tensor in the compute type L: the tensor itself, or a widened copy in row-major order.
template <class L>
class ComputeView {
 public:
  explicit ComputeView(const TensorView& v) : view_(v) {
    if (v.dtype == dtype_of_v<L>) return;
    widened_.reset(new L[static_cast<std::size_t>(v.numel())]);
    to_dense(v, dtype_of_v<L>, widened_.get());
    view_.data = reinterpret_cast<std::byte*>(widened_.get());
    view_.dtype = dtype_of_v<L>;
    std::int64_t stride = 1;
    for (int d = v.rank; d-- > 0;) {
      view_.strides[static_cast<std::size_t>(d)] = stride;
      stride *= v.size(d);
    }
  }
  const TensorView& view() const { return view_; }

 private:
  TensorView view_;
  std::unique_ptr<L[]> widened_;
};

/// Combines in the compute type L. A narrower output is rounded once at the end.
template <class L>
void combine_elements(KernelCall& c, ScatterKind kind) {
  const TensorView& out = c.out[0];
  const bool include_self = c.node->integer(AttrKey::include_self) != 0;
  const ComputeView<L> results(out), source(c.in[2]);
  L* sums = results.view().template data_as<L>();
  const L* values = source.view().template data_as<L>();
  if (!include_self) {
    const L initial = identity<L>(kind);
    for_each_entry(c, source.view(), [&](std::int64_t out_offset, std::int64_t) { sums[out_offset] = initial; });
  }
  visit_kind(kind, [&]<ScatterKind kKind>(std::integral_constant<ScatterKind, kKind>) {
    for_each_entry(c, source.view(), [sums, values](std::int64_t out_offset, std::int64_t src_offset) {
      sums[out_offset] = combine<kKind>(sums[out_offset], values[src_offset]);
    });
  });
  if (kind == ScatterKind::mean) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(out.numel()), include_self ? 1 : 0);
    for_each_entry(c, source.view(), [&counts](std::int64_t out_offset, std::int64_t) {
      ++counts[static_cast<std::size_t>(out_offset)];
    });
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 1) sums[i] = mean_of(sums[i], counts[i]);
    }
  }
  if (out.dtype != dtype_of_v<L>) convert(sums, dtype_of_v<L>, out.data, out.dtype, out.numel());
}

}  // namespace

void cpu_scatter(KernelCall& c) {
  start_from_input(c);
  if (c.in[1].numel() == 0) return;
  const auto kind = static_cast<ScatterKind>(c.node->integer(AttrKey::kind));
  if (kind != ScatterKind::set) {
    visit_compute(number_type(c.out[0].dtype), [&]<class L>(std::type_identity<L>) { combine_elements<L>(c, kind); });
    return;
  }
  switch (element_size(c.out[0].dtype)) {
    case 1: return set_elements<std::uint8_t>(c);
    case 2: return set_elements<std::uint16_t>(c);
    case 4: return set_elements<std::uint32_t>(c);
    case 8: return set_elements<std::uint64_t>(c);
    default: return set_elements<Bytes16>(c);
  }
}

}  // namespace tern
