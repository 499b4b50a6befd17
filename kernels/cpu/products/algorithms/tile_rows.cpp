#include "kernels/cpu/products/algorithms/tile_rows.h"

#include <fmt/format.h>

#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/products/algorithms/row_operands.h"
#include "kernels/cpu/products/float_call.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/products/tiles/row_driver.h"

namespace tern::cpu {
namespace {

tiles::TileLinearShape shape_of_tile_rows(const ProductProperties& p) {
  const LinearShape& s = p.linear->shape;
  const bool narrow = p.call.in[0].dtype == DType::bf16;
  const bool bytes = tiles::is_one_part(p.call.in[1].dtype);
  return {s.m, s.n, s.k, narrow ? s.k : s.x_row, bytes ? s.k : s.w_row, tiles::kRounded};
}

/// Packs the weight. One of 8 bits is bfloat16 exactly, and made such first.
tiles::MakePacked packing(const ProductProperties& p, const tiles::RowLinear& tiles) {
  const TensorView& w = p.call.in[1];
  if (!tiles::is_one_part(w.dtype))
    return [tiles, weight = tiles::Elements::from_tensor(w)](std::byte* to) { tiles.pack(weight, to); };
  return [tiles, w, s = p.linear->shape](std::byte* to) {
    std::vector<std::byte> rows(static_cast<std::size_t>(s.n * s.k * 2));
    for (std::int64_t i = 0; i < s.n; ++i)
      convert(w.data + i * s.w_row, w.dtype, rows.data() + i * s.k * 2, DType::bf16, s.k);
    tiles.pack({rows.data(), true}, to);
  };
}

class TileRowsProduct : public PreparedAlgorithm {
 public:
  TileRowsProduct(const ProductProperties& p, const tiles::TileLinearShape& shape)
      : shape_(shape), tiles_(shape), otherwise_(prepare_blocks(ProductProperties(FloatCall(p.call).call()))) {
    choice = {Algorithm::tile_rows};
    unread = 1u << 1;
    weight_ = tiles::packed_weight(
        p.call, 1, fmt::format("{} in blocks of 32 rows: {} of {}", tiles::kPackedLayout, shape.n, shape.k),
        tiles_.packed_bytes(), packing(p, tiles_));
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    RowOperands(shape_, tiles_.scratch(), c, arena);
    otherwise_->reserve(c, arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const RowOperands operands(shape_, tiles_.scratch(), c, arena);
    const tiles::Elements x = operands.read(c);
    const bool narrow = c.out[0].dtype == DType::bf16;
    if (tiles_.run({x, weight_.get(), operands.bias, c.out[0].data, narrow, {epilogue, &c}}, operands.tiles))
      return RemainingWork::nothing;
    // The exported weight was not read: it is made again from the packed one.
    std::vector<float> weight(static_cast<std::size_t>(shape_.n * shape_.k));
    tiles_.unpack(weight_.get(), weight.data());
    FloatCall floats(c);
    floats.call().in[1].strides[static_cast<std::size_t>(c.in[1].rank) - 1] = shape_.k;
    floats.widen(std::move(weight));
    if (otherwise_->run(floats.call(), arena, epilogue) == RemainingWork::epilogue && epilogue != nullptr)
      epilogue->apply(floats.call());
    floats.store();
    return RemainingWork::nothing;
  }

 private:
  tiles::TileLinearShape shape_;
  tiles::RowLinear tiles_;
  std::shared_ptr<const std::byte> weight_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< computes results that are not finite
};

}  // namespace

bool takes_tile_rows(const ProductProperties& p) {
  const KernelCall& c = p.call;
  if (!p.linear || p.m <= kFewRows || !(c.algorithm == Algorithm::tile_rows ? tiles::rows_possible() : rows_pay()))
    return false;
  const DType x = c.in[0].dtype, w = c.in[1].dtype, y = c.out[0].dtype;
  const auto fits = [](DType t) { return t == DType::f32 || t == DType::bf16; };
  // Tiles read a weight of 8 bits as it lies beside float32, and as fast.
  const bool bytes = tiles::is_one_part(w) && (x == DType::bf16 || !tiles::available());
  const bool narrow = x == DType::bf16 && (w == DType::bf16 || bytes), rounds = c.precision == Precision::bfloat16;
  return fits(x) && (fits(w) || bytes) && fits(y) && (narrow || rounds) && c.constant != nullptr && c.constant[1] &&
         c.in[1].data != nullptr && tiles::RowLinear::suits(shape_of_tile_rows(p));
}

std::unique_ptr<PreparedAlgorithm> prepare_tile_rows(const ProductProperties& p) {
  return takes_tile_rows(p) ? std::make_unique<TileRowsProduct>(p, shape_of_tile_rows(p)) : nullptr;
}

}  // namespace tern::cpu
