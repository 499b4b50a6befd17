#include "kernels/cpu/products/grouped_tiles.h"

#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/products/tiles/in_place_driver.h"
#include "kernels/cpu/products/tiles/split_driver.h"
#include "kernels/cpu/scratch.h"

namespace tern::cpu {
namespace {

// Fewer rows leave tiles mostly empty.
constexpr std::int64_t kFewSplitRows = 15, kFewRoundedRows = 4;
constexpr std::size_t kRoundedSlot = 2;

}  // namespace

bool multiply_on_tiles(const KernelCall& call, const TensorView& matrix, const float* x, std::int64_t m, float* y) {
  const std::int64_t k = matrix.size(0), n = matrix.size(1);
  if (matrix.stride(0) != 1 || matrix.stride(1) < k) return false;
  const int parts = call.in[0].dtype == DType::bf16 ? tiles::kRounded : tiles::parts_of(call);
  const tiles::TileLinearShape shape{m, n, k, k, matrix.stride(1), parts};
  if (m <= (parts == tiles::kRounded ? kFewRoundedRows : kFewSplitRows) || !tiles::SplitLinear::suits(shape))
    return false;
  if (matrix.dtype == DType::f32) return tiles::SplitLinear(shape).run({x, matrix.data, nullptr, y, {}}, nullptr);
  if (matrix.dtype != DType::bf16 || parts != tiles::kRounded) return false;
  const tiles::InPlaceLinear tiles(shape);
  return tiles.run(
      {.x = {reinterpret_cast<const std::byte*>(x)}, .weight = matrix.data, .y = reinterpret_cast<std::byte*>(y)},
      thread_buffer<std::byte>(tiles.scratch(), kRoundedSlot));
}

}  // namespace tern::cpu
