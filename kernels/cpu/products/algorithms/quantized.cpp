// Products by quantized matrices, read in their own bits.
#include <optional>

#include "kernels/cpu/products/block_quantized/tiled_driver.h"
#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/problem.h"
#include "kernels/cpu/products/tiles/row_driver.h"
#include "kernels/quantized_view.h"

namespace tern::cpu {
namespace {

struct MatrixSize {
  std::int64_t n, k;
};
MatrixSize matrix_size_of(const TensorView& w) {
  return {w.size(w.rank - 2), w.size(w.rank - 1)};
}

/// True if all rows are multiplied by one matrix.
bool is_one_matrix(const KernelCall& c) {
  const auto [n, k] = matrix_size_of(c.in[1]);
  return c.in[1].numel() == n * k && c.in[0].numel() / k == c.out[0].numel() / n;
}

/// The shape of one product.
tiles::TileLinearShape shape_of_quantized(const KernelCall& c, int parts) {
  const auto [n, k] = matrix_size_of(c.in[1]);
  return {is_one_matrix(c) ? c.in[0].numel() / k : c.in[0].size(c.in[0].rank - 2), n, k, k, k, parts};
}

/// The plane of `v`, of those that lie one after the other, that belongs to plane `i` of `out`.
std::int64_t plane_of(const TensorView& v, const TensorView& out, std::int64_t i) {
  std::int64_t plane = 0, each = 1;
  for (int axis = out.rank - 3; axis >= 0; --axis) {
    const std::int64_t at = i % out.size(axis);
    i /= out.size(axis);
    const int own = axis - (out.rank - v.rank);
    if (own < 0) break;
    if (v.size(own) != 1) plane += at * each;
    each *= v.size(own);
  }
  return plane;
}

/// Many rows in bfloat16, where the program or its user rounds products so.
bool rounds_quantized(const KernelCall& c) {
  const bool narrow = c.in[0].dtype == DType::bf16, fits = narrow || c.in[0].dtype == DType::f32;
  const DType y = c.out[0].dtype;
  return is_one_matrix(c) && (narrow || c.precision == Precision::bfloat16) && fits &&
         (y == DType::f32 || y == DType::bf16) && rows_pay() &&
         tiles::RowLinear::suits(shape_of_quantized(c, tiles::kRounded));
}

/// The other operands and the result are float32 and dense while the product is made, unless it is of bfloat16.
class QuantizedWeightProduct : public PreparedAlgorithm {
 public:
  explicit QuantizedWeightProduct(const KernelCall& c)
      : convert_x_(c.in[0].dtype != DType::f32 || !c.in[0].contiguous()),
        convert_bias_(c.has_input(2) && (c.in[2].dtype != DType::f32 || !c.in[2].contiguous())),
        convert_y_(c.out[0].dtype != DType::f32) {
    choice = {Algorithm::quantized};
    if (shape_of_quantized(c, tiles::kAllParts).m <= block_quantized::kFewRows) return;
    if (rounds_quantized(c)) {
      rounded_.emplace(shape_of_quantized(c, tiles::kRounded), true);
    } else if (tiles::SplitLinear::suits(shape_of_quantized(c, tiles::kAllParts))) {
      tiles_.emplace(shape_of_quantized(c, tiles::kAllParts));
    }
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override { Room(*this, c, arena); }

  /// Applies the epilogue, unless the result has a type of its own.
  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const Room room(*this, c, arena);
    if (convert_bias_) to_dense(c.in[2], DType::f32, room.bias);
    const float* bias = convert_bias_ ? room.bias : c.has_input(2) ? c.in[2].data_as<const float>() : nullptr;
    const QuantizedMatrix matrix = quantized_matrix(c.in[1]);
    if (rounded_ && run_rounded(c, room, matrix, bias, epilogue)) return RemainingWork::nothing;
    if (convert_x_) to_dense(c.in[0], DType::f32, room.x);
    const bool finishes = !convert_y_ && is_one_matrix(c);
    block_quantized::BlockQuantizedProduct p{
        .matrix = matrix,
        .n = matrix_size_of(c.in[1]).n,
        .weight = c.in[1].data,
        .x = convert_x_ ? room.x : c.in[0].data_as<const float>(),
        .m = shape_of_quantized(c, tiles::kAllParts).m,
        .bias = bias,
        .y = convert_y_ ? room.y : c.out[0].data_as<float>(),
        .finish = finishes ? pointwise::BoundEpilogue{epilogue, &c} : pointwise::BoundEpilogue{}};
    const tiles::SplitLinear* const tiles = tiles_ ? &*tiles_ : nullptr;
    if (is_one_matrix(c)) {
      multiply_quantized(p, tiles);
    } else {
      multiply_planes(c, p, tiles);
    }
    if (convert_y_) from_dense(room.y, DType::f32, c.out[0]);
    return finishes ? RemainingWork::nothing : RemainingWork::epilogue;
  }

 private:
  struct Room {
    Room(const QuantizedWeightProduct& of, const KernelCall& c, ScratchArena& arena)
        : x(of.convert_x_ ? arena.allocate<float>(c.in[0].numel()) : nullptr),
          bias(of.convert_bias_ ? arena.allocate<float>(c.in[2].numel()) : nullptr),
          y(of.convert_y_ ? arena.allocate<float>(c.out[0].numel()) : nullptr),
          rows(of.rounded_ ? arena.allocate<std::byte>(static_cast<std::int64_t>(of.rounded_->scratch())) : nullptr) {}
    float *x, *bias, *y;
    std::byte* rows;
  };

  static void multiply_planes(const KernelCall& c, block_quantized::BlockQuantizedProduct p,
                              const tiles::SplitLinear* tiles) {
    const TensorView& out = c.out[0];
    const float* const x = p.x;
    for (std::int64_t i = 0; i < out.numel() / (p.m * p.n); ++i) {
      p.x = x + plane_of(c.in[0], out, i) * p.m * p.matrix.columns;
      p.matrix.first = plane_of(c.in[1], out, i) * p.n;
      multiply_quantized(p, tiles);
      p.y += p.m * p.n;
    }
  }

  /// False where a result is not finite.
  bool run_rounded(KernelCall& c, const Room& room, const QuantizedMatrix& matrix, const float* bias,
                   const pointwise::Epilogue* epilogue) const {
    tiles::Elements x = tiles::Elements::from_tensor(c.in[0]);
    if (!c.in[0].contiguous()) {
      to_dense(c.in[0], c.in[0].dtype, room.x);
      x.data = reinterpret_cast<const std::byte*>(room.x);
    }
    return rounded_->run({.x = x,
                          .weight = c.in[1].data,
                          .bias = bias,
                          .y = c.out[0].data,
                          .narrow = c.out[0].dtype == DType::bf16,
                          .finish = {epilogue, &c},
                          .quantized = &matrix},
                         room.rows);
  }

  bool convert_x_, convert_bias_, convert_y_;
  std::optional<tiles::RowLinear> rounded_;  ///< multiply many rows, in bfloat16
  std::optional<tiles::SplitLinear> tiles_;  ///< multiply many rows, in float32
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_quantized(const ProductProperties& p) {
  const KernelCall& c = p.call;
  if (c.in[1].blocks.columns == 0 || c.out[0].numel() == 0 || c.in[1].numel() == 0) return nullptr;
  if (c.has_input(2) && (c.in[2].rank != 1 || c.in[2].size(0) != matrix_size_of(c.in[1]).n)) return nullptr;
  return std::make_unique<QuantizedWeightProduct>(c);
}

}  // namespace tern::cpu
