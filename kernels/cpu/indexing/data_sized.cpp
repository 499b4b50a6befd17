// bincount and repeat_interleave: ops with data-dependent result sizes.
#include <algorithm>

#include "kernels/cpu/indexing/indexing.h"
#include "kernels/cpu/indexing/positions.h"
#include "kernels/cpu/strided.h"

namespace tern {
namespace {

/// Allocates output 0 with these sizes, and returns its memory; `symbol_value` is the value of the node's symbol.
std::byte* allocate_result(KernelCall& c, std::int64_t symbol_value, std::vector<std::int64_t> sizes) {
  c.allocator->set_symbol(0, symbol_value);
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
  std::byte* out = allocate_result(c, bins, {bins});
  const bool is_weighted = c.has_input(1), has_double_weights = is_weighted && c.in[1].dtype == DType::f64;
  std::memset(out, 0, static_cast<std::size_t>(bins * (is_weighted && !has_double_weights ? 4 : 8)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_weighted) {
      ++reinterpret_cast<std::int64_t*>(out)[values[i]];
    } else if (has_double_weights) {
      reinterpret_cast<double*>(out)[values[i]] += c.in[1].data_as<double>()[i];
    } else {
      reinterpret_cast<float*>(out)[values[i]] += c.in[1].data_as<float>()[i];
    }
  }
}

void cpu_repeat_interleave(KernelCall& c) {
  const TensorView& x = c.in[0];
  const Positions repeats(c.in[1]);
  const int axis = axis_of(*c.node, x.rank);
  const std::int64_t axis_size = x.size(axis), has_single_repeat = c.in[1].numel() == 1;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < axis_size; ++i) {
    const std::int64_t repeat_count = repeats[has_single_repeat ? 0 : i];
    if (repeat_count < 0)
      fail(ErrorCode::runtime, "a slice is to be repeated " + std::to_string(repeat_count) + " times");
    if (__builtin_add_overflow(count, repeat_count, &count))
      fail(ErrorCode::runtime, "the repeats add up to more than memory holds");
  }
  std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
  sizes[static_cast<std::size_t>(axis)] = count;
  std::byte* out = allocate_result(c, count, std::move(sizes));
  std::int64_t outer = 1, bytes = element_size(x.dtype);
  for (int i = 0; i < axis; ++i) outer *= x.size(i);
  for (int i = axis + 1; i < x.rank; ++i) bytes *= x.size(i);
  if (bytes == 0) return;
  for (std::int64_t outer_index = 0; outer_index < outer; ++outer_index) {
    for (std::int64_t i = 0; i < axis_size; ++i) {
      const std::byte* source = x.data + (outer_index * axis_size + i) * bytes;
      for (std::int64_t repeat_count = repeats[has_single_repeat ? 0 : i]; repeat_count > 0;
           --repeat_count, out += bytes) {
        std::memcpy(out, source, static_cast<std::size_t>(bytes));
      }
    }
  }
}

}  // namespace tern
