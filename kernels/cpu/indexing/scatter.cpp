// index_put and scatter: write at positions. An in-place call touches the written elements only.
#include <cmath>
#include <limits>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/strided.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Adds n values to n elements; rounds each sum to the type.
template <class L>
void add_run(const L* values, std::byte* to, DType dtype, std::int64_t n) {
  using A = std::conditional_t<std::is_integral_v<L>, std::uint64_t, L>;
  RunReader<L> reader(dtype);
  RunWriter<L> writer(dtype);
  const L* old = reader.read(to, 1, n);
  L* sums = writer.begin(to, 1);
  for (std::int64_t i = 0; i < n; ++i) sums[i] = static_cast<L>(static_cast<A>(old[i]) + static_cast<A>(values[i]));
  writer.end(to, 1, n);
}

}  // namespace

void cpu_index_put(KernelCall& c) {
  start_from_input(c);
  const TensorView &values = c.in[1], &out = c.out[0];
  const int k = static_cast<int>(c.in.size()) - 2, lead = c.in[2].rank;
  std::vector<Positions> positions;
  for (int i = 0; i < k; ++i) positions.emplace_back(c.in[static_cast<std::size_t>(i + 2)]);
  // The target's shape is the shape of the indices, then the remaining axes of x; values are broadcast to this shape.
  CollapsedAxes rows, row;
  const int place = lead + out.rank - k, skip = place - values.rank;
  for (int i = 0; i < place; ++i) {
    const std::int64_t size = i < lead ? c.in[2].size(i) : out.size(i - lead + k);
    const bool repeats = i < skip || values.size(i - skip) == 1;
    (i < lead ? rows : row).add(size, repeats ? 0 : values.stride(i - skip));
  }
  if (rows.count == 0 || row.count == 0) return;
  const std::int64_t size = element_size(out.dtype), run = row.inner_size();
  const auto each_run = [&](auto&& write) {
    for (std::int64_t t = 0; t < rows.count; ++t) {
      std::int64_t at = 0;
      for (int i = 0; i < k; ++i)
        at = at * out.size(i) + positions[static_cast<std::size_t>(i)].wrapped(t, out.size(i));
      const std::byte* from = values.data + rows.offset(t) * size;
      std::byte* to = out.data + at * row.count * size;
      for (std::int64_t j = 0; j < row.count; j += run) write(from + row.offset(j) * size, to + j * size);
    }
  };
  if (c.node->integer(AttrKey::accumulate) == 0) {
    each_run([&](const std::byte* from, std::byte* to) {
      gather_run(from, row.inner_stride(), to, run, static_cast<int>(size));
    });
    return;
  }
  visit_compute(number_type(out.dtype), [&]<class L>(std::type_identity<L>) {
    RunReader<L> reader(out.dtype);
    each_run([&](const std::byte* from, std::byte* to) {
      for (std::int64_t j = 0; j < run; j += kRun) {
        const std::int64_t n = std::min(kRun, run - j);
        add_run(reader.read(from + j * row.inner_stride() * size, row.inner_stride(), n), to + j * size, out.dtype, n);
      }
    });
  });
}

namespace {

/// Calls write(offset in out, offset in src), in elements, for each entry of the index.
template <class Write>
void each_place(const KernelCall& c, Write&& write) {
  const TensorView &index = c.in[1], &src = c.in[2], &out = c.out[0];
  const Positions positions(index);
  const int axis = axis_of(*c.node, out.rank), last = out.rank - 1;
  const std::int64_t along = out.size(axis), step = out.stride(axis);
  CollapsedAxes to, from;
  for (int i = 0; i < last; ++i) {
    to.add(index.size(i), i == axis ? 0 : out.stride(i));
    from.add(index.size(i), src.rank == 0 ? 0 : src.stride(i));
  }
  const std::int64_t n = index.size(last), to_each = last == axis ? 0 : out.stride(last);
  const std::int64_t from_each = src.rank == 0 ? 0 : src.stride(last);
  for (std::int64_t t = 0; t < to.count; ++t) {
    const std::int64_t o = to.offset(t), s = from.offset(t);
    for (std::int64_t j = 0; j < n; ++j) {
      write(o + j * to_each + positions.at(t * n + j, along) * step, s + j * from_each);
    }
  }
}

template <class T>
void set_elements(const KernelCall& c) {
  T* to = c.out[0].as<T>();
  const T* from = c.in[2].as<T>();
  each_place(c, [&](std::int64_t o, std::int64_t s) { to[o] = from[s]; });
}

template <class L>
L neutral(ScatterKind kind) {
  if (kind == ScatterKind::prod) return L(1);
  if constexpr (!is_std_complex_v<L>) {
    using N = std::numeric_limits<L>;
    if (kind == ScatterKind::max) return N::has_infinity ? -N::infinity() : N::lowest();
    if (kind == ScatterKind::min) return N::has_infinity ? N::infinity() : N::max();
  }
  return L{};
}

template <class L>
L join(ScatterKind kind, L a, L v) {
  using A = std::conditional_t<std::is_integral_v<L>, std::uint64_t, L>;
  switch (kind) {
    case ScatterKind::prod: return static_cast<L>(times(static_cast<A>(a), static_cast<A>(v)));
    case ScatterKind::max:
      if constexpr (!is_std_complex_v<L>) return is_nan(a) || a > v ? a : v;
      return a;
    case ScatterKind::min:
      if constexpr (!is_std_complex_v<L>) return is_nan(a) || a < v ? a : v;
      return a;
    default: return static_cast<L>(static_cast<A>(a) + static_cast<A>(v));
  }
}

template <class L>
L divided(L sum, std::int64_t count) {
  if constexpr (std::is_integral_v<L>) {
    const L n = static_cast<L>(count), q = sum / n;
    return sum % n != 0 && sum < 0 ? q - 1 : q;
  } else if constexpr (is_std_complex_v<L>) {
    return sum / static_cast<typename L::value_type>(count);
  } else {
    return sum / static_cast<L>(count);
  }
}

/// Joins in the compute type; narrower types are widened as a whole and rounded once.
template <class L>
void join_elements(KernelCall& c, ScatterKind kind) {
  const TensorView& out = c.out[0];
  const bool include = c.node->integer(AttrKey::include_self) != 0, direct = out.dtype == dtype_of_v<L>;
  const std::int64_t numel = out.numel();
  std::vector<L> own;
  L* to = out.as<L>();
  if (!direct) {
    own.resize(static_cast<std::size_t>(numel));
    convert(out.data, out.dtype, own.data(), dtype_of_v<L>, numel);
    to = own.data();
  }
  if (!include) {
    const L start = neutral<L>(kind);
    each_place(c, [&](std::int64_t o, std::int64_t) { to[o] = start; });
  }
  const std::int64_t size = element_size(out.dtype);
  std::vector<std::int64_t> counts(kind == ScatterKind::mean ? static_cast<std::size_t>(numel) : 0, include ? 1 : 0);
  each_place(c, [&](std::int64_t o, std::int64_t s) {
    L v;
    if (direct) {
      v = c.in[2].as<L>()[s];
    } else {
      convert(c.in[2].data + s * size, out.dtype, &v, dtype_of_v<L>, 1);
    }
    to[o] = join(kind, to[o], v);
    if (!counts.empty()) ++counts[static_cast<std::size_t>(o)];
  });
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 1) to[i] = divided(to[i], counts[i]);
  }
  if (!direct) convert(own.data(), dtype_of_v<L>, out.data, out.dtype, numel);
}

}  // namespace

void cpu_scatter(KernelCall& c) {
  start_from_input(c);
  if (c.in[1].numel() == 0) return;
  const auto kind = static_cast<ScatterKind>(c.node->integer(AttrKey::kind));
  if (kind != ScatterKind::set) {
    visit_compute(number_type(c.out[0].dtype), [&]<class L>(std::type_identity<L>) { join_elements<L>(c, kind); });
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
