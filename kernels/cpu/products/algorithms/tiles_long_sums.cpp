// Float products with small results and long sums, such as gradients of weights, on matrix tiles. The sums are split
// into pieces along k whose operands fit the L2 cache. Planes of a batch follow one another.
#include <algorithm>
#include <atomic>

#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/products/problem.h"
#include "kernels/cpu/products/tiles/split_driver.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kMinDepth = 4096;       // k
constexpr std::int64_t kPieceDepth = 1024;     // largest k of a piece
constexpr std::int64_t kMaxResults = 1 << 16;  // m * n: adding the pieces' results costs little
// Smallest sides of the result. Tiles take as long as vectors for 64 x 64, and 0.7 of the time for 64 x 147.
constexpr std::int64_t kMinShortSide = 64, kMinLongSide = 128;
constexpr std::size_t kSumsSlot = 1;  // slot of thread_buffer

bool suits(const KernelCall& c, const Problem& p) {
  const auto r = static_cast<std::size_t>(p.a.rank);
  return c.in[0].dtype == DType::f32 && c.in[1].dtype == DType::f32 && c.out[0].dtype == DType::f32 &&
         !c.has_input(2) && !p.convert_a && !p.convert_b && p.k >= kMinDepth && p.m * p.n <= kMaxResults &&
         std::min(p.m, p.n) >= kMinShortSide && std::max(p.m, p.n) >= kMinLongSide && p.a.strides[r - 1] == 1 &&
         p.b.strides[r - 2] == 1;
}

class LongSums : public PreparedAlgorithm {
 public:
  explicit LongSums(std::unique_ptr<PreparedAlgorithm> fallback) : fallback_(std::move(fallback)) {
    choice = {Algorithm::tiles};
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override { fallback_->reserve(c, arena); }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const Problem p = describe(c);
    std::atomic<bool> is_finite = true;
    const auto multiply_planes = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (!multiply(c, p, i)) is_finite = false;
      }
    };
    if (p.batch.planes >= 2 * Threads::current().count()) {
      parallel_for(p.batch.planes, 1, multiply_planes);
    } else {
      multiply_planes(0, p.batch.planes);
    }
    return is_finite ? RemainingWork::epilogue : fallback_->run(c, arena, epilogue);
  }

 private:
  /// Multiplies one plane; false if a result is not finite.
  static bool multiply(const KernelCall& c, const Problem& p, std::int64_t plane) {
    const auto r = static_cast<std::size_t>(p.a.rank);
    const Batch::Offsets offsets = p.batch.offsets_of(plane);
    const float *a = c.in[0].data_as<const float>() + offsets.a, *b = c.in[1].data_as<const float>() + offsets.b;
    const std::int64_t results = p.m * p.n, pieces = (p.k + kPieceDepth - 1) / kPieceDepth;
    float* y = c.out[0].data_as<float>() + plane * results;
    auto* piece_sums = thread_buffer<float>(static_cast<std::size_t>(results), kSumsSlot);
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t begin = piece * p.k / pieces, end = (piece + 1) * p.k / pieces;
      const tiles::SplitLinear tiles(
          {p.m, p.n, end - begin, p.a.strides[r - 2], p.b.strides[r - 1], tiles::parts_of(c)});
      if (!tiles.run({a + begin, b + begin, nullptr, piece == 0 ? y : piece_sums, {}}, nullptr)) return false;
      for (std::int64_t j = 0; piece > 0 && j < results; ++j) y[j] += piece_sums[j];
    }
    return true;
  }

  std::unique_ptr<PreparedAlgorithm> fallback_;  ///< computes the node again if a result is not finite
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_tiles_long_sums(const ProductProperties& p) {
  if (!tiles::available() || !suits(p.call, describe(p.call))) return nullptr;
  return std::make_unique<LongSums>(prepare_blocks(p));
}

}  // namespace tern::cpu
