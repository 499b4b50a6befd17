#include "tools/machine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include "dtypes/levels.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/products/int8/driver.h"
#include "kernels/cpu/products/tiles/row_driver.h"
#include "platform/machine.h"
#include "threads/parallel.h"

namespace tern {
namespace {

constexpr int kTries = 12;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// The shortest of several calls, in seconds.
template <class F>
double shortest(F&& f) {
  f();
  double best_seconds = 1e30;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best_seconds =
        std::min(best_seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best_seconds;
}

/// Twice the last-level cache, to miss the cache mostly, but at most an eighth of the memory.
std::int64_t words_to_stream() {
  const std::int64_t bytes = std::clamp(2 * platform::last_cache_bytes(), 256 * kMiB, 1024 * kMiB);
  return std::max(std::min(bytes, platform::memory_bytes() / 8), 16 * kMiB) / std::int64_t{sizeof(std::uint64_t)};
}

/// Reads four streams at once, each with its own sums: a core's prefetchers follow several streams but stop at page
/// boundaries, so a single stream would wait at the start of each page; a product also reads several rows of its
/// weights.
[[gnu::always_inline]] inline std::uint64_t sum_loop(const std::uint64_t* words, std::int64_t n) {
  constexpr std::int64_t kStreams = 4, kStep = 8;
  const std::int64_t words_per_stream = n / kStreams / kStep * kStep;
  std::uint64_t sums[kStreams][kStep] = {};
  for (std::int64_t i = 0; i < words_per_stream; i += kStep) {
    for (std::int64_t s = 0; s < kStreams; ++s) {
      for (std::int64_t k = 0; k < kStep; ++k) sums[s][k] += words[s * words_per_stream + i + k];
    }
  }
  std::uint64_t sum = 0;
  for (const auto& stream : sums) {
    for (const std::uint64_t s : stream) sum += s;
  }
  return sum;
}

std::uint64_t sum_of(const std::uint64_t* words, std::int64_t n) {
  std::uint64_t sum = 0;
  visit_cpu_level([&](auto) __attribute__((always_inline)) { sum = sum_loop(words, n); });
  return sum;
}

constexpr std::int64_t kCachedBytes = std::int64_t{1} << 18;  ///< bytes of a thread: half a second-level cache or less

/// Seconds of copying `half_words` words of `data` to the words behind them, `times` times over, on all threads.
double copy_seconds(std::uint64_t* data, std::int64_t half_words, int times) {
  return shortest([&] {
    parallel_for(half_words, 1, [&](std::int64_t begin, std::int64_t end) {
      for (int i = 0; i < times; ++i)
        std::memcpy(data + half_words + begin, data + begin,
                    static_cast<std::size_t>(end - begin) * sizeof(std::uint64_t));
    });
  });
}

/// Bytes per second of copying (reads and writes), and of reading only.
void measure_memory(MachinePeaks& peaks) {
  const std::int64_t words = words_to_stream(), half_words = words / 2;
  constexpr double kBytesPerWord = sizeof(std::uint64_t);
  std::vector<std::uint64_t> data(static_cast<std::size_t>(words), 1);
  peaks.copy_bytes = 2 * kBytesPerWord * static_cast<double>(half_words) / copy_seconds(data.data(), half_words, 1);
  constexpr int kTimes = 64;
  const std::int64_t cached_bytes = kCachedBytes * Threads::current().count(),
                     cached = std::min(half_words, cached_bytes / std::int64_t{2 * sizeof(std::uint64_t)});
  peaks.cached_size = static_cast<double>(cached_bytes);
  peaks.cached_bytes =
      2 * kBytesPerWord * kTimes * static_cast<double>(cached) / copy_seconds(data.data(), cached, kTimes);
  std::atomic<std::uint64_t> checksum = 0;  // keeps the compiler from removing the sums
  peaks.read_bytes = kBytesPerWord * static_cast<double>(words) / shortest([&] {
                       parallel_for(words, 1, [&](std::int64_t begin, std::int64_t end) {
                         checksum += sum_of(data.data() + begin, end - begin);
                       });
                     });
}

constexpr std::int64_t kMatrixSize = 1024;  // rows and columns of the products
constexpr double kProductOperations = 2.0 * kMatrixSize * kMatrixSize * kMatrixSize;

double float_product_seconds() {
  std::vector<float> a(kMatrixSize * kMatrixSize, 0.5F), b(a), c(a.size());
  dnnl_cpu::PackedProduct p;
  p.dtype = DType::f32;
  p.m = p.n = p.k = p.lda = kMatrixSize;
  p.weight.data = reinterpret_cast<std::byte*>(b.data());
  p.weight.dtype = DType::f32;
  p.weight.rank = 2;
  p.weight.sizes = {kMatrixSize, kMatrixSize};
  p.weight.strides = {kMatrixSize, 1};
  const auto packed = dnnl_cpu::packed_matmul(p);
  std::vector<std::byte> scratch((packed == nullptr ? 0 : packed->scratch()) + 64);
  return shortest([&] {
    if (packed != nullptr) {
      packed->run(a.data(), nullptr, c.data(), scratch.data());
    } else {
      gemm<float>(kMatrixSize, kMatrixSize, kMatrixSize, {a.data(), kMatrixSize, 1}, {b.data(), kMatrixSize, 1},
                  c.data(), kMatrixSize, false);
    }
  });
}

double double_product_seconds() {
  std::vector<double> a(kMatrixSize * kMatrixSize, 0.5), b(a), c(a.size());
  return shortest([&] {
    gemm<double>(kMatrixSize, kMatrixSize, kMatrixSize, {a.data(), kMatrixSize, 1}, {b.data(), kMatrixSize, 1},
                 c.data(), kMatrixSize, false);
  });
}

/// `bytes` zeros at a multiple of 64 bytes.
struct AlignedZeros {
  explicit AlignedZeros(std::int64_t bytes) : storage(static_cast<std::size_t>(bytes) + 64) {
    data = storage.data() + (64 - reinterpret_cast<std::uintptr_t>(storage.data()) % 64);
  }
  std::vector<std::byte> storage;
  std::byte* data;
};

double bfloat16_product_seconds() {
  const tiles::RowLinear product({kMatrixSize, kMatrixSize, kMatrixSize, kMatrixSize, kMatrixSize, tiles::kRounded});
  const AlignedZeros x(kMatrixSize * kMatrixSize * 2), weight(product.packed_bytes()), y(kMatrixSize * kMatrixSize * 4),
      scratch(static_cast<std::int64_t>(product.scratch()));
  product.pack({x.data, true}, weight.data);
  return shortest([&] { product.run({.x = {x.data, true}, .weight = weight.data, .y = y.data}, scratch.data); });
}

double int8_product_seconds(const int8::Method& method) {
  const int8::Int8Linear product({kMatrixSize, kMatrixSize, kMatrixSize, {.x = false, .weight = true}}, method);
  const AlignedZeros x(kMatrixSize * kMatrixSize), weight(product.packed_bytes()), y(kMatrixSize * kMatrixSize * 4),
      scratch(static_cast<std::int64_t>(product.scratch()));
  product.pack({.data = x.data, .n = kMatrixSize, .k = kMatrixSize, .column = kMatrixSize, .element = 1}, weight.data);
  return shortest(
      [&] { product.run({.x = x.data, .x_row = kMatrixSize, .weight = weight.data, .y = y.data}, scratch.data); });
}

/// A loop of one item for each thread.
double call_seconds() {
  constexpr int kCalls = 1000;
  std::atomic<int> calls = 0;
  return shortest([&] {
           for (int i = 0; i < kCalls; ++i)
             parallel_for(Threads::current().count(), 1,
                          [&](std::int64_t, std::int64_t) { calls.fetch_add(1, std::memory_order_relaxed); });
         }) /
         kCalls;
}

}  // namespace

double MachinePeaks::products_of(DType type) const {
  switch (type) {
    case DType::f64: return f64;
    case DType::bf16: return bf16;
    case DType::i8: return i8;
    default: return flops;
  }
}

double MachinePeaks::copy_rate(double bytes) const {
  return bytes <= cached_size ? cached_bytes : copy_bytes;
}

MachinePeaks measure_peaks() {
  MachinePeaks peaks;
  measure_memory(peaks);
  peaks.flops = kProductOperations / float_product_seconds();
  peaks.f64 = kProductOperations / double_product_seconds();
  peaks.bf16 = peaks.i8 = peaks.flops;
  if (tiles::rows_possible()) peaks.bf16 = std::max(peaks.flops, kProductOperations / bfloat16_product_seconds());
  if (const auto methods = int8::methods(); !methods.empty())
    peaks.i8 = std::max(peaks.flops, kProductOperations / int8_product_seconds(methods.front()));
  peaks.call_seconds = call_seconds();
  return peaks;
}

}  // namespace tern
