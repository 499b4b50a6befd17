#include "kernels/cpu/machine.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "kernels/cpu/products/float32/in_place_driver.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/products/tiles/row_driver.h"
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

/// Memory that begins with a line of the cache.
class CacheAlignedBytes {
 public:
  explicit CacheAlignedBytes(std::size_t bytes) : memory_(bytes + 64) {}
  std::byte* data() { return memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64; }

 private:
  std::vector<std::byte> memory_;
};

/// A product that the second-level cache holds.
struct CachedProduct {
  static constexpr std::int64_t m = 64, n = 128, k = 256;
  static constexpr auto flops = static_cast<double>(m * n * k);
  const std::vector<float> x = std::vector<float>(m * k, 1.0F), w = std::vector<float>(n * k, 0.5F);
  std::vector<float> y = std::vector<float>(m * n);

  double vector_rate() {
    return flops / shortest([&] { linear({m, n, k, k, k}, {x.data(), w.data(), nullptr, y.data(), {}, DType::f32}); });
  }
  double tile_rate() {
    const auto bytes = [](const std::vector<float>& v) { return reinterpret_cast<const std::byte*>(v.data()); };
    const tiles::RowLinear rows({m, n, k, k, k, tiles::kRounded});
    CacheAlignedBytes packed(static_cast<std::size_t>(rows.packed_bytes())), scratch(rows.scratch());
    rows.pack({bytes(w)}, packed.data());
    return flops / shortest([&] {
             rows.run({{bytes(x)}, packed.data(), nullptr, reinterpret_cast<std::byte*>(y.data()), false, {}},
                      scratch.data());
           });
  }
};

/// Of a Xeon with AMX, the middle of eight measurements of a product and a copy that its second-level
/// cache holds: against vectors tiles took 0.72 of the time with all parts of the floats and 0.29 with one.
constexpr double kProducts = 7e10;
constexpr Machine kTiles{.products = kProducts, .tile_products = 1.38 * kProducts, .bytes = 1.41 * kProducts};
constexpr Machine kRoundedTiles{.products = kProducts, .tile_products = 3.4 * kProducts, .bytes = 1.41 * kProducts};

bool measure_rows() {
  if (!tiles::rows_possible()) return false;
  if (tiles::available()) return true;
#if defined(__aarch64__)
  return true;  // an instruction multiplies four times as many bfloat16 as floats
#else
  constexpr double kWorthWhile = 1.2;
  const ThreadScope alone(Threads(1));
  CachedProduct product;
  return product.tile_rate() > kWorthWhile * product.vector_rate();
#endif
}

}  // namespace

bool rows_pay() {
  static const bool measured = measure_rows();
  return measured;
}

const Machine& machine(Precision precision) {
  // Multiply-adds of a column of the micro-kernel, measured on a Zen 3 at 3.5 GHz.
  constexpr double kOfColumn = 2.8e9;
#if defined(__aarch64__)
  constexpr double kPackedElement = 0;
#else
  constexpr double kPackedElement = 0.23e-9;  // measured on a Zen 4
#endif
  static const Machine without{.products = kOfColumn * strided_product::micro_kernels().columns,
                               .packed_element = kPackedElement};
  if (!tiles::available()) return without;
  return precision == Precision::bfloat16 ? kRoundedTiles : kTiles;
}

}  // namespace tern::cpu
