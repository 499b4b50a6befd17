#include "kernels/cpu/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/linear/linear.h"
#include "threads/threads.h"

namespace tern::cpu {
namespace {

/// The shortest of several runs, in seconds: others were disturbed, or the first ones at a low clock.
template <class Run>
double shortest(const Run& run) {
  constexpr int kTimes = 9;
  double best = 1e9;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return std::max(best, 1e-9);
}

Machine measure() {
  if (!amx::available()) return {};
  const ThreadScope alone(Threads(1));
  constexpr std::int64_t m = 64, n = 128, k = 256;  // all in the second-level cache
  constexpr auto work = static_cast<double>(m * n * k);
  const std::vector<float> x(m * k, 1.0F), w(n * k, 0.5F);
  std::vector<float> y(m * n);
  Machine made;
  made.products = work / shortest([&] {
                    linear({m, n, k, k, k}, {x.data(), w.data(), nullptr, y.data(), {}, DType::f32});
                  });
  const amx::Linear tiles({m, n, k, k, k});
  std::vector<std::byte> scratch(tiles.scratch() + 64);
  std::byte* const room = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
  made.on_tiles = work / shortest([&] { tiles.run({x.data(), w.data(), nullptr, y.data(), {}}, room); });
  constexpr std::size_t kBytes = std::size_t{1} << 18;
  std::vector<std::byte> from(kBytes, std::byte{1}), to(kBytes);
  made.bytes = 2.0 * kBytes / shortest([&] { std::memcpy(to.data(), from.data(), kBytes); });
  return made;
}

}  // namespace

const Machine& machine() {
  static const Machine measured = measure();
  return measured;
}

}  // namespace tern::cpu
