// Small float products with long sums, such as gradients of weights, on matrix tiles: a piece of the sums at a time, so
// that the parts of its operands stay in the second cache; and the same for a batch of them.
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

constexpr std::int64_t kLong = 4096;            // products in a sum
constexpr std::int64_t kPiece = 1024;           // products in a sum at a time
constexpr std::int64_t kMostResults = 1 << 16;  // results of a product whose pieces are added at little cost
// Below, splitting the operands takes what tiles save: 64 x 64 takes as long as on vectors, 64 x 147 0.7 of the time.
constexpr std::int64_t kFewest = 64, kFewestOfOne = 128;
constexpr std::size_t kSumsSlot = 1;

bool suits(const KernelCall& c, const Problem& p) {
  const auto r = static_cast<std::size_t>(p.a.rank);
  return c.in[0].dtype == DType::f32 && c.in[1].dtype == DType::f32 && c.out[0].dtype == DType::f32 && !c.has(2) &&
         !p.convert_a && !p.convert_b && p.k >= kLong && p.m * p.n <= kMostResults && std::min(p.m, p.n) >= kFewest &&
         std::max(p.m, p.n) >= kFewestOfOne && p.a.strides[r - 1] == 1 && p.b.strides[r - 2] == 1;
}

class LongSums : public PreparedAlgorithm {
 public:
  explicit LongSums(std::unique_ptr<PreparedAlgorithm> otherwise) : otherwise_(std::move(otherwise)) {
    choice = {Algorithm::tiles};
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override { otherwise_->reserve(c, parts); }

  RemainingWork run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override {
    const Problem p = describe(c);
    std::atomic<bool> finite = true;
    const auto planes = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (!multiply(c, p, i)) finite = false;
      }
    };
    if (p.batch.planes >= 2 * Threads::current().count()) {
      parallel_for(p.batch.planes, 1, planes);
    } else {
      planes(0, p.batch.planes);
    }
    return finite ? RemainingWork::epilogue : otherwise_->run(c, parts, epilogue);
  }

 private:
  static bool multiply(const KernelCall& c, const Problem& p, std::int64_t plane) {
    const auto r = static_cast<std::size_t>(p.a.rank);
    const Batch::Offsets at = p.batch.at(plane);
    const float *a = c.in[0].as<const float>() + at.a, *b = c.in[1].as<const float>() + at.b;
    const std::int64_t results = p.m * p.n, pieces = (p.k + kPiece - 1) / kPiece;
    float* y = c.out[0].as<float>() + plane * results;
    auto* sums = thread_buffer<float>(static_cast<std::size_t>(results), kSumsSlot);
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t from = i * p.k / pieces, to = (i + 1) * p.k / pieces;
      const tiles::SplitLinear tiles({p.m, p.n, to - from, p.a.strides[r - 2], p.b.strides[r - 1], tiles::parts_of(c)});
      if (!tiles.run({a + from, b + from, nullptr, i == 0 ? y : sums, {}}, nullptr)) return false;
      for (std::int64_t k = 0; i > 0 && k < results; ++k) y[k] += sums[k];
    }
    return true;
  }

  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< computes results that are not finite
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_tiles_long_sums(const ProductProperties& p) {
  if (!tiles::available() || !suits(p.call, describe(p.call))) return nullptr;
  return std::make_unique<LongSums>(prepare_blocks(p));
}

}  // namespace tern::cpu
