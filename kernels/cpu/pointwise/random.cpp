// Random tensors. Element i is made of word i of the session's stream, so that threads need not agree on anything.
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/philox.h"
#include "kernels/cpu/pointwise/kernels.h"

namespace tern::pointwise {
namespace {

constexpr std::int64_t kChunk = 512;  // even: both words of a block go to one chunk
constexpr std::int64_t kGrain = 1 << 12;

/// The stream from here on; advances the session's past `words`.
struct Stream {
  std::uint64_t seed, block;

  static Stream take(KernelCall& call, std::int64_t words) {
    if (call.random == nullptr) fail(ErrorCode::internal, "random: the session has no generator");
    const Stream s{call.random->seed, call.random->offset};
    call.random->offset += (static_cast<std::uint64_t>(words) + 1) / 2;
    return s;
  }
  RandomPair pair(std::int64_t i) const { return random_pair(seed, block + static_cast<std::uint64_t>(i)); }
};

/// How many bits a number below one has: no more than the mantissa holds, so that it never rounds up to one.
int bits_of(DType t) {
  switch (t) {
    case DType::f64: return 53;
    case DType::f32: return 24;
    case DType::f16: return 11;
    case DType::bf16: return 8;
    default: return 3;
  }
}
double uniform(std::uint64_t word, int bits) {
  return std::ldexp(static_cast<double>(word >> (64 - bits)), -bits);
}
/// Above zero.
double open_uniform(std::uint64_t word) {
  return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53;
}

/// Box and Muller's transform.
std::pair<double, double> normals(RandomPair r) {
  const double radius = std::sqrt(-2 * std::log(open_uniform(r.first)));
  const double angle = 2 * std::numbers::pi * uniform(r.second, 53);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Below `range`; 0 stands for 2^64. The bias is less than range / 2^64.
std::uint64_t below(std::uint64_t word, std::uint64_t range) {
  return range == 0 ? word : static_cast<std::uint64_t>((static_cast<unsigned __int128>(word) * range) >> 64);
}

/// Fills `count` elements of the type V, made two at a time from a block by `make`, and stores them as `t`.
template <class V, class Make>
void generate(const Stream& s, std::byte* out, DType from, DType t, std::int64_t count, Make make) {
  parallel_for((count + kChunk - 1) / kChunk, kGrain / kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t at = chunk * kChunk;
      const std::int64_t n = std::min(kChunk, count - at);
      V values[kChunk];
      for (std::int64_t i = 0; i < n; i += 2) {
        const std::pair<V, V> two = make(s.pair((at + i) / 2));
        values[i] = two.first;
        values[i + 1] = two.second;
      }
      convert(values, from, out + at * element_size(t), t, n);
    }
  });
}

void normal(KernelCall& call) {
  const TensorView& out = call.out[0];
  if (!is_complex(out.dtype)) {
    generate<double>(Stream::take(call, out.numel()), out.data, DType::f64, out.dtype, out.numel(), normals);
    return;
  }
  const DType part = out.dtype == DType::c128 ? DType::f64 : out.dtype == DType::c64 ? DType::f32 : DType::f16;
  const std::int64_t parts = 2 * out.numel();
  generate<double>(Stream::take(call, parts), out.data, DType::f64, part, parts, [](RandomPair r) {
    const auto [x, y] = normals(r);
    return std::pair(x / std::numbers::sqrt2, y / std::numbers::sqrt2);
  });
}

/// Fisher and Yates's shuffle.
void permutation(KernelCall& call) {
  const TensorView& out = call.out[0];
  const std::int64_t n = out.numel();
  const Stream s = Stream::take(call, n);
  std::vector<std::int64_t> p(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = i;
  for (std::int64_t i = n - 1; i > 0; --i) {
    const RandomPair r = s.pair(i / 2);
    const std::uint64_t j = below(i % 2 == 0 ? r.first : r.second, static_cast<std::uint64_t>(i) + 1);
    std::swap(p[static_cast<std::size_t>(i)], p[static_cast<std::size_t>(j)]);
  }
  convert(p.data(), DType::i64, out.data, out.dtype, n);
}

void random(KernelCall& call) {
  const TensorView& out = call.out[0];
  const std::string& kind = call.node->text(AttrKey::kind);
  const std::int64_t n = out.numel();
  if (kind == "normal") return normal(call);
  if (kind == "randperm") return permutation(call);
  const Stream s = Stream::take(call, n);
  if (kind == "uniform") {
    const int bits = bits_of(out.dtype);
    generate<double>(s, out.data, DType::f64, out.dtype, n,
                     [&](RandomPair r) { return std::pair(uniform(r.first, bits), uniform(r.second, bits)); });
  } else if (kind == "exponential") {
    generate<double>(s, out.data, DType::f64, out.dtype, n, [](RandomPair r) {
      return std::pair(-std::log(open_uniform(r.first)), -std::log(open_uniform(r.second)));
    });
  } else if (kind == "bits") {
    generate<std::int64_t>(s, out.data, DType::i64, out.dtype, n, [](RandomPair r) {
      return std::pair(static_cast<std::int64_t>(r.first >> 11), static_cast<std::int64_t>(r.second >> 11));
    });
  } else {
    const Dims& range = call.node->dims(AttrKey::range);
    const auto low = static_cast<std::uint64_t>(range.at(0).value());
    const auto width = static_cast<std::uint64_t>(range.at(1).value()) - low;
    if (range[0].value() >= range[1].value()) fail(ErrorCode::runtime, "random: the range of integers is empty");
    generate<std::int64_t>(s, out.data, DType::i64, out.dtype, n, [&](RandomPair r) {
      return std::pair(static_cast<std::int64_t>(low + below(r.first, width)),
                       static_cast<std::int64_t>(low + below(r.second, width)));
    });
  }
}

}  // namespace

void register_random(KernelTable& t) {
  Kernel k;
  k.run = random;
  t.set(Op::random, k);
}

}  // namespace tern::pointwise
