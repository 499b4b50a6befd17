// Random tensors. The numbers equal PyTorch's on a CUDA device: the same words of Philox for the same seed, in the
// order of PyTorch's kernels, so a seed means the same everywhere.
//
// PyTorch shares the elements among T threads. Thread t has the stream of blocks number t; the session's offset counts
// blocks. A block makes U numbers (4, or 2 if a number takes two words), and number u of the thread's block b
// becomes element t + T * (U * b + u). T is the number of elements, rounded up to groups of 256 threads, but at most
// the device's capacity: here a device of 132 multiprocessors of 2048 threads (H100, H200), relevant only above
// 270336 elements. Dropout takes runs of V elements: u < V of block b becomes element V * (t + T * b) + u.
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/below_one.h"
#include "kernels/cpu/philox.h"
#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/random_threads.h"
#include "threads/parallel.h"

namespace tern::pointwise {
namespace {

/// A tensor's share of the session's stream.
struct PhiloxStream {
  std::uint64_t seed = 0, block = 0;
  std::int64_t threads = 0;

  /// Reserves the stream for `n` elements, `unit` per block, and advances the session's offset.
  static PhiloxStream reserve(KernelCall& call, std::int64_t n, std::int64_t unit) {
    if (call.random == nullptr) fail(ErrorCode::internal, "random: the session has no generator");
    PhiloxStream s{call.random->seed, call.random->offset, random_threads(n)};
    if (n > 0) call.random->offset += static_cast<std::uint64_t>((n - 1) / (s.threads * unit) + 1);
    return s;
  }
  PhiloxWords words(std::int64_t thread, std::int64_t b) const {
    return philox_block(seed, static_cast<std::uint64_t>(thread), block + static_cast<std::uint64_t>(b));
  }
};

/// Fills `n` elements of `out`. `make(words, count, values)` makes the first `count` of a block's U numbers.
template <class V, int U, class Make>
void generate(KernelCall& call, const TensorView& out, DType from, std::int64_t n, Make make) {
  const PhiloxStream s = PhiloxStream::reserve(call, n, U);
  const std::int64_t groups = s.threads / kRandomGroup, blocks = n == 0 ? 0 : (n - 1) / (s.threads * U) + 1;
  parallel_for(groups * blocks, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      const std::int64_t b = g / groups, first = g % groups * kRandomGroup;
      V values[U][kRandomGroup];
      const std::int64_t at = first + b * U * s.threads;  // element of number 0 of the first thread
      const std::int64_t count = std::clamp<std::int64_t>((n - at + s.threads - 1) / s.threads, 0, U);
      for (std::int64_t t = 0; t < kRandomGroup && count > 0; ++t) {
        V made[U];
        make(s.words(first + t, b), static_cast<int>(count), made);
        for (std::int64_t u = 0; u < count; ++u) values[u][t] = made[u];
      }
      for (std::int64_t u = 0; u < count; ++u) {
        const std::int64_t to = at + u * s.threads;
        convert(values[u], from, out.data + to * element_size(out.dtype), out.dtype, std::min(kRandomGroup, n - to));
      }
    }
  });
}

/// Uniform in [0, 1): 1 becomes 0.
void uniform(KernelCall& call) {
  const TensorView& out = call.out[0];
  if (out.dtype == DType::f64) {
    generate<double, 2>(call, out, DType::f64, out.numel(), [](const PhiloxWords& w, int, double* v) {
      for (int i = 0; i < 2; ++i) {
        const double u = philox_uniform(w[2 * i], w[2 * i + 1]);
        v[i] = u == 1 ? 0 : u;
      }
    });
    return;
  }
  const double most = below_one(out.dtype);
  generate<float, 4>(call, out, DType::f32, out.numel(), [most](const PhiloxWords& w, int count, float* v) {
    for (int i = 0; i < count; ++i) {
      const float u = philox_uniform(w[i]);
      v[i] = u > most ? 0 : u;
    }
  });
}

/// Uniform in (0, 1]. Each thread takes runs of 4, 2 or 1 elements: the largest run that divides the element count.
void dropout(KernelCall& call) {
  const TensorView& out = call.out[0];
  const std::int64_t n = out.numel(), run = n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
  if (run == 1) {
    generate<float, 4>(call, out, DType::f32, n, [](const PhiloxWords& w, int count, float* v) {
      for (int i = 0; i < count; ++i) v[i] = philox_uniform(w[i]);
    });
    return;
  }
  // Runs of two use half of a block's words; the offset still advances as for runs of four.
  const PhiloxStream s = PhiloxStream::reserve(call, n, 4);
  parallel_for((n / run + kRandomGroup - 1) / kRandomGroup, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      float values[4 * kRandomGroup];
      const std::int64_t first = g * kRandomGroup, count = std::min(kRandomGroup, n / run - first);
      for (std::int64_t i = 0; i < count; ++i) {
        const PhiloxWords w = s.words((first + i) % s.threads, (first + i) / s.threads);
        for (std::int64_t u = 0; u < run; ++u) {
          values[i * run + u] = philox_uniform(w[static_cast<std::size_t>(u)]);
        }
      }
      convert(values, DType::f32, out.data + first * run * element_size(out.dtype), out.dtype, count * run);
    }
  });
}

/// Exponential with mean 1. A logarithm of 0 becomes minus half the type's epsilon: exponential numbers are positive.
void exponential(KernelCall& call) {
  const TensorView& out = call.out[0];
  if (out.dtype == DType::f64) {
    generate<double, 2>(call, out, DType::f64, out.numel(), [](const PhiloxWords& w, int, double* v) {
      for (int i = 0; i < 2; ++i) {
        const double u = philox_uniform(w[2 * i], w[2 * i + 1]);
        v[i] = u >= 1 - 0x1p-53 ? 0x1p-53 : -std::log(u);
      }
    });
    return;
  }
  generate<float, 4>(call, out, DType::f32, out.numel(), [](const PhiloxWords& w, int count, float* v) {
    for (int i = 0; i < count; ++i) {
      const float u = philox_uniform(w[i]);
      v[i] = u >= 1 - 0x1p-24f ? 0x1p-24f : -std::log(u);
    }
  });
}

std::uint64_t word64(const PhiloxWords& w, std::size_t i) {
  return std::uint64_t{w[2 * i]} << 32 | w[2 * i + 1];
}

/// Integers in [low, low + width); a width of 0 means 2^64. Takes the remainder as PyTorch does: of a single word for
/// widths below 2^28.
void integers(KernelCall& call, std::uint64_t low, std::uint64_t width) {
  const TensorView& out = call.out[0];
  if (width != 0 && width < std::uint64_t{1} << 28) {
    generate<std::int64_t, 4>(call, out, DType::i64, out.numel(),
                              [=](const PhiloxWords& w, int count, std::int64_t* v) {
                                for (int i = 0; i < count; ++i) v[i] = static_cast<std::int64_t>(low + w[i] % width);
                              });
    return;
  }
  generate<std::int64_t, 2>(call, out, DType::i64, out.numel(), [=](const PhiloxWords& w, int, std::int64_t* v) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint64_t x = word64(w, i);
      v[i] = static_cast<std::int64_t>(low + (width == 0 ? x : x % width));
    }
  });
}

/// Fisher-Yates shuffle: the first two words of thread i exchange element i. The order differs from PyTorch, which
/// sorts random keys.
void permutation(KernelCall& call) {
  const TensorView& out = call.out[0];
  const std::int64_t n = out.numel();
  const PhiloxStream s = PhiloxStream::reserve(call, n, 1);
  std::vector<std::int64_t> p(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = i;
  for (std::int64_t i = n - 1; i > 0; --i) {
    const std::uint64_t word = word64(s.words(i % s.threads, i / s.threads), 0);
    const auto j =
        static_cast<std::size_t>((static_cast<unsigned __int128>(word) * static_cast<std::uint64_t>(i + 1)) >> 64);
    std::swap(p[static_cast<std::size_t>(i)], p[j]);
  }
  convert(p.data(), DType::i64, out.data, out.dtype, n);
}

void random(KernelCall& call) {
  const std::string& kind = call.node->text(AttrKey::kind);
  if (kind == "uniform") return uniform(call);
  if (kind == "dropout") return dropout(call);
  if (kind == "exponential") return exponential(call);
  if (kind == "randperm") return permutation(call);
  if (kind == "bits") return integers(call, 0, std::uint64_t{1} << 53);
  const Dims& range = call.node->dims(AttrKey::range);
  if (range.at(0).value() >= range.at(1).value()) fail(ErrorCode::runtime, "random: the range of integers is empty");
  const auto low = static_cast<std::uint64_t>(range[0].value());
  integers(call, low, static_cast<std::uint64_t>(range[1].value()) - low);
}

/// The portable definition is as fast for numbers that cost more than a logarithm.
bool serves(const KernelCall& call) {
  const std::string& kind = call.node->text(AttrKey::kind);
  return kind != "normal" && kind != "poisson" && kind != "binomial" && kind != "gamma";
}

}  // namespace

void register_random(KernelTable& t) {
  Kernel k;
  k.run = random;
  k.serves = serves;
  t.set(Op::random, k);
}

}  // namespace tern::pointwise
