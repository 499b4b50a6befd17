// Tensors without inputs: full, iota, from_dim.
#include <algorithm>
#include <complex>
#include <cstring>
#include <variant>
#include <vector>

#include "dtypes/cast.h"
#include "dtypes/convert.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/cpu/pointwise/tile_program.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kGrain = 1 << 15;

/// Reads number `i` of the attribute `value`, an array of integers or floating-point numbers.
struct Values {
  explicit Values(const Node& node) : data(*node.find(AttrKey::value)) {}
  bool integers() const { return std::holds_alternative<Dims>(data); }
  std::int64_t integer(std::size_t i) const {
    return integers() ? std::get<Dims>(data).at(i).value() : float_to_int<std::int64_t>(number(i));
  }
  double number(std::size_t i) const {
    if (integers()) return static_cast<double>(integer(i));
    const auto& n = std::get<std::vector<double>>(data);
    return i < n.size() ? n[i] : 0.0;
  }
  const AttrData& data;
};

void full(KernelCall& call) {
  const TensorView& out = call.out[0];
  const Values v(*call.node);
  const std::int64_t n = out.numel();
  const std::int64_t bytes = run_bytes(out.dtype, n);
  if (bytes == 0) return;
  // Converts two elements to fill a packed pair.
  std::byte element[2 * sizeof(std::complex<double>)] = {};
  if (v.integers()) {
    const std::int64_t twice[] = {v.integer(0), v.integer(0)};
    convert(twice, DType::i64, element, out.dtype, 2);
  } else {
    const std::complex<double> twice[] = {{v.number(0), v.number(1)}, {v.number(0), v.number(1)}};
    convert(twice, DType::c128, element, out.dtype, 2);
  }
  const std::int64_t size = element_size(out.dtype);
  parallel_for(bytes / size, 4 * kGrain, [&](std::int64_t begin, std::int64_t end) {
    fill(out.data + begin * size, element, size, end - begin);
  });
}

void iota(KernelCall& call) {
  const TensorView& out = call.out[0];
  const Values v(*call.node);
  const DType t = out.dtype;
  const bool floating = is_floating(t) || is_complex(t);
  const bool narrow = floating && compute_type(t) == DType::f32 && t != DType::f32;
  const auto start = static_cast<std::uint64_t>(floating ? 0 : v.integer(0));
  const auto step = static_cast<std::uint64_t>(floating ? 0 : v.integer(1));
  parallel_for(out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t n = std::min(kChunk, end - at);
      std::byte* to = out.data + at * element_size(t);
      if (!floating) {
        std::int64_t values[kChunk];
        for (std::int64_t i = 0; i < n; ++i) {
          values[i] = static_cast<std::int64_t>(start + static_cast<std::uint64_t>(at + i) * step);
        }
        convert(values, DType::i64, to, t, n);
      } else if (narrow) {
        float values[kChunk];
        const auto first = static_cast<float>(v.number(0));
        const auto by = static_cast<float>(v.number(1));
        for (std::int64_t i = 0; i < n; ++i) values[i] = first + static_cast<float>(at + i) * by;
        convert(values, DType::f32, to, t, n);
      } else {
        double values[kChunk];
        for (std::int64_t i = 0; i < n; ++i) values[i] = v.number(0) + static_cast<double>(at + i) * v.number(1);
        convert(values, DType::f64, to, t, n);
      }
    }
  });
}

void from_dim(KernelCall& call) {
  const std::int64_t value = call.node->dim(AttrKey::dim).value();
  convert(&value, DType::i64, call.out[0].data, call.out[0].dtype, 1);
}

}  // namespace

void register_sources(KernelTable& t) {
  Kernel k;
  k.run = full;
  t.set(Op::full, k);
  k.run = iota;
  t.set(Op::iota, k);
  k.run = from_dim;
  t.set(Op::from_dim, k);
}

}  // namespace tern::pointwise
