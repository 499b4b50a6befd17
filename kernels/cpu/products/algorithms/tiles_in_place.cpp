#include "kernels/cpu/products/algorithms/tiles_in_place.h"

#include <utility>

#include "kernels/cpu/products/algorithms/row_operands.h"
#include "kernels/cpu/products/tiles/in_place_driver.h"

namespace tern::cpu {
namespace {

tiles::TileLinearShape shape_of_tiles_in_place(const ProductProperties& p) {
  const LinearShape& s = p.linear->shape;
  const bool narrow = p.call.in[0].dtype == DType::bf16;
  return {s.m, s.n, s.k, narrow ? s.k : s.x_row, s.w_row, tiles::kRounded};
}

class TilesInPlace : public PreparedAlgorithm {
 public:
  TilesInPlace(const tiles::TileLinearShape& shape, std::unique_ptr<PreparedAlgorithm> otherwise)
      : shape_(shape), tiles_(shape), otherwise_(std::move(otherwise)) {
    choice = {Algorithm::tiles};
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override {
    RowOperands(shape_, tiles_.scratch(), c, parts);
    otherwise_->reserve(c, parts);
  }

  RemainingWork run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override {
    const RowOperands operands(shape_, tiles_.scratch(), c, parts);
    const tiles::Elements x = operands.read(c);
    const bool narrow = c.out[0].dtype == DType::bf16;
    const bool done =
        tiles_.run({x, c.in[1].data, operands.bias, c.out[0].data, narrow, {epilogue, &c}}, operands.tiles);
    return done ? RemainingWork::nothing : otherwise_->run(c, parts, epilogue);  // a result is not finite
  }

 private:
  tiles::TileLinearShape shape_;
  tiles::InPlaceLinear tiles_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;
};

}  // namespace

bool takes_tiles_in_place(const ProductProperties& p) {
  const KernelCall& c = p.call;
  if (!p.linear || p.m <= kFewRows) return false;
  const DType x = c.in[0].dtype, y = c.out[0].dtype;
  const auto fits = [](DType t) { return t == DType::f32 || t == DType::bf16; };
  return fits(x) && c.in[1].dtype == DType::bf16 && fits(y) &&
         (x == DType::bf16 || c.precision == Precision::bfloat16) && c.constant != nullptr && c.constant[1] &&
         tiles::InPlaceLinear::suits(shape_of_tiles_in_place(p));
}

std::unique_ptr<PreparedAlgorithm> prepare_tiles_in_place(const ProductProperties& p) {
  return takes_tiles_in_place(p) ? std::make_unique<TilesInPlace>(shape_of_tiles_in_place(p), prepare_in_place(p))
                                 : nullptr;
}

}  // namespace tern::cpu
