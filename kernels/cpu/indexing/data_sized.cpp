// bincount and repeat_interleave: ops with data-dependent result sizes.
#include <algorithm>

#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/strided.h"

namespace tern {
namespace {

/// Allocates output 0 with these sizes; `count` is the value of the node's symbol.
std::byte* result(KernelCall& c, std::int64_t count, std::vector<std::int64_t> sizes) {
  c.allocator->set_symbol(0, count);
  c.allocator->allocate(0, sizes, &c.out[0]);
  return c.out[0].data;
}

}  // namespace

void cpu_bincount(KernelCall& c) {
  const TensorView& x = c.in[0];
  std::vector<std::int64_t> values(static_cast<std::size_t>(x.numel()));
  convert(x.data, x.dtype, values.data(), DType::i64, x.numel());
  std::int64_t bins = c.node->integer(AttrKey::length);
  for (std::int64_t v : values) {
    if (v < 0) fail(ErrorCode::runtime, "bincount of the negative number " + std::to_string(v));
    if (v >= bins && __builtin_add_overflow(v, 1, &bins))
      fail(ErrorCode::runtime, "bincount of " + std::to_string(v) + ": that many bins are more than memory holds");
  }
  std::byte* out = result(c, bins, {bins});
  const bool weighted = c.has(1), wide = weighted && c.in[1].dtype == DType::f64;
  std::memset(out, 0, static_cast<std::size_t>(bins * (weighted && !wide ? 4 : 8)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!weighted) {
      ++reinterpret_cast<std::int64_t*>(out)[values[i]];
    } else if (wide) {
      reinterpret_cast<double*>(out)[values[i]] += c.in[1].as<double>()[i];
    } else {
      reinterpret_cast<float*>(out)[values[i]] += c.in[1].as<float>()[i];
    }
  }
}

void cpu_repeat_interleave(KernelCall& c) {
  const TensorView& x = c.in[0];
  const Positions repeats(c.in[1]);
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t n = x.size(axis), one = c.in[1].numel() == 1;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t r = repeats[one ? 0 : i];
    if (r < 0) fail(ErrorCode::runtime, "a slice is to be repeated " + std::to_string(r) + " times");
    if (__builtin_add_overflow(count, r, &count))
      fail(ErrorCode::runtime, "the repeats add up to more than memory holds");
  }
  std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes[static_cast<std::size_t>(axis)] = count;
  std::byte* out = result(c, count, std::move(sizes));
  std::int64_t outer = 1, bytes = element_size(x.dtype);
  for (int i = 0; i < axis; ++i) outer *= x.size(i);
  for (int i = axis + 1; i < x.rank; ++i) bytes *= x.size(i);
  if (bytes == 0) return;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::byte* from = x.data + (o * n + i) * bytes;
      for (std::int64_t r = repeats[one ? 0 : i]; r > 0; --r, out += bytes) {
        std::memcpy(out, from, static_cast<std::size_t>(bytes));
      }
    }
  }
}

}  // namespace tern
