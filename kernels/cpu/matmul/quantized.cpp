// Products by a quantized matrix, read in its own bits.
#include <algorithm>
#include <optional>

#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/row_linear.h"
#include "kernels/cpu/matmul/algorithms.h"
#include "kernels/cpu/matmul/problem.h"
#include "kernels/cpu/quantized/product.h"
#include "kernels/cpu/scratch.h"
#include "kernels/quantized_view.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::size_t kScalesSlot = 2;

amx::LinearShape shape_of(const KernelCall& c, int parts) {
  const std::int64_t n = c.in[1].size(0), k = c.in[1].size(1);
  return {c.in[0].numel() / k, n, k, k, k, parts};
}

/// Many rows in bfloat16, where the program or its user rounds products so.
bool rounds(const KernelCall& c) {
  const bool narrow = c.in[0].dtype == DType::bf16, fits = narrow || c.in[0].dtype == DType::f32;
  const DType y = c.out[0].dtype;
  return (narrow || c.precision == Precision::bfloat16) && fits && (y == DType::f32 || y == DType::bf16) &&
         rows_pay() && amx::RowLinear::suits(shape_of(c, amx::kRounded));
}

/// Whether a tile reads the elements as they lie: of 8 bits, with nothing but a scale for each row.
bool scales_rows(const TensorView& w) {
  return amx::is_one_part(w.dtype) && w.blocks.columns == w.size(1) && w.blocks.rows == 1 &&
         w.blocks.zero_point == ZeroPoint::none;
}

/// The other operands and the result are float32 and dense while the product is made, unless it is of bfloat16.
class Quantized : public PreparedAlgorithm {
 public:
  explicit Quantized(const KernelCall& c)
      : convert_x_(c.in[0].dtype != DType::f32 || !c.in[0].contiguous()),
        convert_bias_(c.has(2) && (c.in[2].dtype != DType::f32 || !c.in[2].contiguous())),
        convert_y_(c.out[0].dtype != DType::f32) {
    choice = {Algorithm::quantized};
    if (shape_of(c, amx::kAllParts).m <= quantized::kFewRows) return;
    if (rounds(c)) {
      rounded_.emplace(shape_of(c, amx::kRounded), true);
    } else if (amx::Linear::suits(shape_of(c, amx::kAllParts))) {
      tiles_.emplace(shape_of(c, amx::kAllParts));
      in_place_ = scales_rows(c.in[1]);
    }
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override { Room(*this, c, parts); }

  /// With the epilogue, unless the result has a type of its own.
  Left run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override {
    const Room room(*this, c, parts);
    if (convert_bias_) to_dense(c.in[2], DType::f32, room.bias);
    const float* bias = convert_bias_ ? room.bias : c.has(2) ? c.in[2].as<const float>() : nullptr;
    const QuantizedMatrix matrix = quantized_matrix(c.in[1]);
    if (rounded_ && run_rounded(c, room, matrix, bias, epilogue)) return Left::nothing;
    if (convert_x_) to_dense(c.in[0], DType::f32, room.x);
    const quantized::Product p{.matrix = matrix,
                               .weight = c.in[1].data,
                               .x = convert_x_ ? room.x : c.in[0].as<const float>(),
                               .m = c.in[0].numel() / matrix.columns,
                               .bias = bias,
                               .y = convert_y_ ? room.y : c.out[0].as<float>(),
                               .finish = convert_y_ ? pointwise::Finish{} : pointwise::Finish{epilogue, &c}};
    const bool done =
        tiles_ &&
        tiles_->run(
            {.x = p.x, .weight = p.weight, .bias = p.bias, .y = p.y, .finish = p.finish, .quantized = &p.matrix},
            nullptr);
    if (!done) quantized::multiply(p);
    if (!convert_y_) return Left::nothing;
    from_dense(room.y, DType::f32, c.out[0]);
    return Left::epilogue;
  }

 private:
  struct Room {
    Room(const Quantized& of, const KernelCall& c, ScratchParts& parts)
        : x(of.convert_x_ ? parts.take<float>(c.in[0].numel()) : nullptr),
          bias(of.convert_bias_ ? parts.take<float>(c.in[2].numel()) : nullptr),
          y(of.convert_y_ ? parts.take<float>(c.out[0].numel()) : nullptr),
          rows(of.rounded_ ? parts.take<std::byte>(static_cast<std::int64_t>(of.rounded_->scratch())) : nullptr) {}
    float *x, *bias, *y;
    std::byte* rows;
  };

  /// The elements as a weight, then its scales and the bias. False where a result is not finite.
  bool run_in_place(const quantized::Product& p) const {
    if (!tiles_->run({.x = p.x, .weight = p.weight, .y = p.y, .type = p.matrix.element}, nullptr)) return false;
    const std::int64_t n = p.matrix.rows;
    float* const scales = thread_buffer<float>(static_cast<std::size_t>(n), kScalesSlot);
    quantized::scales_of_rows(p.matrix, p.weight, 0, n, scales);
    parallel_for(p.m, std::max<std::int64_t>(1, (1 << 15) / n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float* y = p.y + i * n;
        for (std::int64_t j = 0; j < n; ++j) y[j] = y[j] * scales[j] + (p.bias == nullptr ? 0.0F : p.bias[j]);
      }
    });
    return true;
  }

  /// False where a result is not finite.
  bool run_rounded(KernelCall& c, const Room& room, const QuantizedMatrix& matrix, const float* bias,
                   const pointwise::Epilogue* epilogue) const {
    amx::Elements x = amx::Elements::of(c.in[0]);
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

  bool convert_x_, convert_bias_, convert_y_, in_place_ = false;
  std::optional<amx::RowLinear> rounded_;  ///< of many rows, in bfloat16
  std::optional<amx::Linear> tiles_;       ///< of many rows, in float32
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> product_of_quantized(const Product& p) {
  const KernelCall& c = p.call;
  if (c.in[1].blocks.columns == 0 || c.out[0].numel() == 0 || c.in[1].size(1) == 0) return nullptr;
  if (c.has(2) && (c.in[2].rank != 1 || c.in[2].size(0) != c.in[1].size(0))) return nullptr;
  return std::make_unique<Quantized>(c);
}

}  // namespace tern::cpu
