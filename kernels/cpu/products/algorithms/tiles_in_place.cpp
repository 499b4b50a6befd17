#include "kernels/cpu/products/algorithms/tiles_in_place.h"

#include <utility>

#include "kernels/cpu/products/algorithms/row_operands.h"
#include "kernels/cpu/products/tiles/in_place_driver.h"

namespace tern::cpu {
namespace {

tiles::TileLinearShape tiles_in_place_shape(const ProductProperties& p) {
  const LinearShape& s = p.linear->shape;
  const bool x_is_bfloat16 = p.call.in[0].dtype == DType::bf16;
  return {s.m, s.n, s.k, x_is_bfloat16 ? s.k : s.x_row, s.w_row, tiles::kRounded};
}

class TilesInPlace : public PreparedAlgorithm {
 public:
  TilesInPlace(const tiles::TileLinearShape& shape, std::unique_ptr<PreparedAlgorithm> fallback)
      : shape_(shape), tiles_(shape), fallback_(std::move(fallback)) {
    choice = {Algorithm::tiles};
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    RowOperands(shape_, tiles_.scratch(), c, arena);
    fallback_->reserve(c, arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const RowOperands operands(shape_, tiles_.scratch(), c, arena);
    const tiles::Elements x = operands.read(c);
    const bool y_is_bfloat16 = c.out[0].dtype == DType::bf16;
    const bool is_finite =
        tiles_.run({x, c.in[1].data, operands.bias, c.out[0].data, y_is_bfloat16, {epilogue, &c}}, operands.tiles);
    return is_finite ? RemainingWork::nothing : fallback_->run(c, arena, epilogue);
  }

 private:
  tiles::TileLinearShape shape_;
  tiles::InPlaceLinear tiles_;
  std::unique_ptr<PreparedAlgorithm> fallback_;
};

}  // namespace

bool can_use_tiles_in_place(const ProductProperties& p) {
  const KernelCall& c = p.call;
  if (!p.linear || p.m <= kFewRows) return false;
  const DType x_type = c.in[0].dtype, y_type = c.out[0].dtype;
  const auto is_supported = [](DType t) { return t == DType::f32 || t == DType::bf16; };
  return is_supported(x_type) && c.in[1].dtype == DType::bf16 && is_supported(y_type) &&
         (x_type == DType::bf16 || c.precision == Precision::bfloat16) && c.constant != nullptr && c.constant[1] &&
         tiles::InPlaceLinear::suits(tiles_in_place_shape(p));
}

std::unique_ptr<PreparedAlgorithm> prepare_tiles_in_place(const ProductProperties& p) {
  return can_use_tiles_in_place(p) ? std::make_unique<TilesInPlace>(tiles_in_place_shape(p), prepare_in_place(p))
                                   : nullptr;
}

}  // namespace tern::cpu
