#include "kernels/cpu/machine.h"

#include <algorithm>
#include <array>
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

std::array<Machine, 2> measure() {
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
  const auto on_tiles = [&](int parts) {
    const amx::Linear tiles({m, n, k, k, k, parts});
    std::vector<std::byte> scratch(tiles.scratch() + 64);
    std::byte* const room = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    return work / shortest([&] { tiles.run({x.data(), w.data(), nullptr, y.data(), {}}, room); });
  };
  made.on_tiles = on_tiles(amx::kAllParts);
  constexpr std::size_t kBytes = std::size_t{1} << 18;
  std::vector<std::byte> from(kBytes, std::byte{1}), to(kBytes);
  made.bytes = 2.0 * kBytes / shortest([&] { std::memcpy(to.data(), from.data(), kBytes); });
  Machine rounded = made;
  rounded.on_tiles = on_tiles(amx::kRounded);
  return {made, rounded};
}

}  // namespace

const Machine& machine(Precision precision) {
  static const std::array<Machine, 2> measured = measure();
  return measured[precision == Precision::bfloat16 ? 1 : 0];
}

}  // namespace tern::cpu
