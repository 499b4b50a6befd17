// Products of constant weights that oneDNN packs.
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/problem.h"

namespace tern::cpu {
namespace {

class Packed : public PreparedAlgorithm {
 public:
  Packed(std::unique_ptr<dnnl_cpu::PackedMatmul> packed, const Problem& p, bool convert)
      : packed_(std::move(packed)), m_(p.m), n_(p.n), k_(p.k), convert_(convert) {
    choice = {Algorithm::onednn};
    unread = 1u << 1;
  }

  void reserve(const KernelCall&, ScratchArena& arena) const override { buffers(arena); }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue*) const override {
    const Buffers at = buffers(arena);
    const void* bias = c.has_input(2) ? c.in[2].data : nullptr;
    if (!convert_) {
      packed_->run(c.in[0].data, bias, c.out[0].data, at.primitive);
      return RemainingWork::epilogue;
    }
    to_dense(c.in[0], DType::f32, at.a);
    if (bias != nullptr) to_dense(c.in[2], DType::f32, at.bias);
    packed_->run(at.a, bias == nullptr ? nullptr : at.bias, at.c, at.primitive);
    from_dense(at.c, DType::f32, c.out[0]);
    return RemainingWork::epilogue;
  }

 private:
  struct Buffers {
    std::byte* primitive;
    float *a, *bias, *c;
  };
  Buffers buffers(ScratchArena& arena) const {
    Buffers b{arena.allocate<std::byte>(static_cast<std::int64_t>(packed_->scratch())), nullptr, nullptr, nullptr};
    if (convert_)
      b = {b.primitive, arena.allocate<float>(m_ * k_), arena.allocate<float>(n_), arena.allocate<float>(m_ * n_)};
    return b;
  }

  std::unique_ptr<dnnl_cpu::PackedMatmul> packed_;
  std::int64_t m_, n_, k_;
  bool convert_;  ///< operands and result have another type than the primitive, f32
};

/// The matrix of the last two axes of `v`, which is all of it.
TensorView last_plane(const TensorView& v) {
  TensorView plane = v;
  plane.rank = 2;
  for (int i = 0; i < 2; ++i) {
    plane.sizes[static_cast<std::size_t>(i)] = v.size(v.rank - 2 + i);
    plane.strides[static_cast<std::size_t>(i)] = v.stride(v.rank - 2 + i);
  }
  return plane;
}

std::unique_ptr<PreparedAlgorithm> prepare_onednn_product(const KernelCall& c) {
  const DType dtype = c.in[0].dtype;
  if (!is_floating(dtype) || dtype == DType::f64 || !is_floating(c.out[0].dtype) || c.out[0].numel() == 0)
    return nullptr;
  if (c.in[1].blocks.columns != 0) return nullptr;  // read in its own bits
  if (c.constant == nullptr || !c.constant[1] || c.in[1].data == nullptr) return nullptr;
  // A packed copy of a float32 weight alone is not worth its memory.
  if (dtype == DType::f32 && c.in[1].dtype == DType::f32 && c.algorithm != Algorithm::onednn) return nullptr;
  const Problem p = describe(c);
  if (p.batch.planes != 1 || p.k == 0) return nullptr;
  if (c.has_input(2) && (c.in[2].rank != 1 || c.in[2].size(0) != p.n)) return nullptr;
  const bool own_type = dtype == DType::f32 || (dtype == DType::bf16 && dnnl_cpu::native_bf16());
  const TensorView& a = c.in[0];
  const bool readable =
      dtype == DType::f32 ? !p.convert_a && (p.a.stride(p.a.rank - 1) == 1 || p.k == 1) : a.contiguous();
  const bool direct = own_type && readable && c.in[1].dtype == dtype && c.out[0].dtype == dtype &&
                      (!c.has_input(2) || c.in[2].dtype == dtype);
  dnnl_cpu::PackedProduct product{p.m, p.n, p.k, direct ? dtype : DType::f32, p.k, last_plane(c.in[1]), c.has_input(2)};
  for (int i = 0; i < 2; ++i) {
    if (product.weight.stride(i) <= 0 && product.weight.size(i) > 1) return nullptr;
  }
  if (direct && dtype == DType::f32 && p.m > 1) product.lda = p.a.stride(p.a.rank - 2);
  product.access = c.weights;
  auto packed = dnnl_cpu::packed_matmul(product);
  if (packed == nullptr) return nullptr;
  return std::make_unique<Packed>(std::move(packed), p, !direct);
}

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_onednn(const ProductProperties& p) {
  return prepare_onednn_product(p.call);
}

}  // namespace tern::cpu
