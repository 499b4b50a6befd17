#include "tools/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/parallel.h"

namespace tern {
namespace {

constexpr int kTries = 7;

/// The shortest of several calls, in seconds.
template <class F>
double shortest(F&& f) {
  f();
  double best = 1e30;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

std::uint64_t sum_of(const std::uint64_t* words, std::int64_t n) {
  std::uint64_t sums[32] = {};
  for (std::int64_t i = 0; i + 32 <= n; i += 32) {
    for (std::int64_t k = 0; k < 32; ++k) sums[k] += words[i + k];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t s : sums) sum += s;
  return sum;
}

}  // namespace

MachinePeaks measure_peaks() {
  MachinePeaks peaks;
  constexpr std::int64_t kBytes = std::int64_t{128} << 20, kWords = kBytes / 8;
  std::vector<std::uint64_t> from(static_cast<std::size_t>(kWords), 1), to(from.size());
  peaks.copy_bytes = 2 * static_cast<double>(kBytes) / shortest([&] {
                       parallel_for(kWords, 1, [&](std::int64_t begin, std::int64_t end) {
                         std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin) * 8);
                       });
                     });
  volatile std::uint64_t seen = 0;
  peaks.read_bytes = static_cast<double>(kBytes) / shortest([&] {
                       parallel_for(kWords, 1, [&](std::int64_t begin, std::int64_t end) {
                         seen = sum_of(from.data() + begin, end - begin);
                       });
                     });
  constexpr std::int64_t kSide = 1024;
  std::vector<float> a(kSide * kSide, 0.5F), b(a), c(a.size());
  dnnl_cpu::PackedProduct p;
  p.dtype = DType::f32;
  p.m = p.n = p.k = p.lda = kSide;
  p.weight.data = reinterpret_cast<std::byte*>(b.data());
  p.weight.dtype = DType::f32;
  p.weight.rank = 2;
  p.weight.sizes = {kSide, kSide};
  p.weight.strides = {kSide, 1};
  const auto packed = dnnl_cpu::packed_matmul(p);
  std::vector<std::byte> scratch((packed == nullptr ? 0 : packed->scratch()) + 64);
  const double seconds = shortest([&] {
    if (packed != nullptr) {
      packed->run(a.data(), nullptr, c.data(), scratch.data());
    } else {
      gemm<float>(kSide, kSide, kSide, {a.data(), kSide, 1}, {b.data(), kSide, 1}, c.data(), kSide, false);
    }
  });
  peaks.flops = 2.0 * kSide * kSide * kSide / seconds;
  return peaks;
}

double private_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) * 1024;
  }
  return 0;
}

}  // namespace tern
