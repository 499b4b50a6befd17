// Products by a quantized matrix, read in its own bits.
#include "kernels/cpu/matmul/algorithms.h"
#include "kernels/cpu/matmul/problem.h"
#include "kernels/cpu/quantized/product.h"
#include "kernels/quantized_view.h"

namespace tern::cpu {
namespace {

/// The other operands and the result are float32 and dense while the product is made.
class Quantized : public PreparedAlgorithm {
 public:
  explicit Quantized(const KernelCall& c)
      : convert_x_(c.in[0].dtype != DType::f32 || !c.in[0].contiguous()),
        convert_bias_(c.has(2) && (c.in[2].dtype != DType::f32 || !c.in[2].contiguous())),
        convert_y_(c.out[0].dtype != DType::f32) {
    choice = {Algorithm::quantized};
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override { Room(*this, c, parts); }

  /// With the epilogue, unless the result has a type of its own.
  Left run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override {
    const Room room(*this, c, parts);
    if (convert_x_) to_dense(c.in[0], DType::f32, room.x);
    if (convert_bias_) to_dense(c.in[2], DType::f32, room.bias);
    const QuantizedMatrix matrix = quantized_matrix(c.in[1]);
    quantized::multiply({.matrix = matrix,
                         .weight = c.in[1].data,
                         .x = convert_x_ ? room.x : c.in[0].as<const float>(),
                         .m = c.in[0].numel() / matrix.columns,
                         .bias = convert_bias_ ? room.bias : c.has(2) ? c.in[2].as<const float>() : nullptr,
                         .y = convert_y_ ? room.y : c.out[0].as<float>(),
                         .finish = convert_y_ ? pointwise::Finish{} : pointwise::Finish{epilogue, &c}});
    if (!convert_y_) return Left::nothing;
    from_dense(room.y, DType::f32, c.out[0]);
    return Left::epilogue;
  }

 private:
  struct Room {
    Room(const Quantized& of, const KernelCall& c, ScratchParts& parts)
        : x(of.convert_x_ ? parts.take<float>(c.in[0].numel()) : nullptr),
          bias(of.convert_bias_ ? parts.take<float>(c.in[2].numel()) : nullptr),
          y(of.convert_y_ ? parts.take<float>(c.out[0].numel()) : nullptr) {}
    float *x, *bias, *y;
  };

  bool convert_x_, convert_bias_, convert_y_;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> product_of_quantized(const Product& p) {
  const KernelCall& c = p.call;
  if (c.in[1].blocks.columns == 0 || c.out[0].numel() == 0 || c.in[1].size(1) == 0) return nullptr;
  if (c.has(2) && (c.in[2].rank != 1 || c.in[2].size(0) != c.in[1].size(0))) return nullptr;
  return std::make_unique<Quantized>(c);
}

}  // namespace tern::cpu
