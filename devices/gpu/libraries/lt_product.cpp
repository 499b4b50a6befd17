// matmul by cuBLASLt or hipBLASLt.
#include <algorithm>

#include "devices/gpu/libraries/lt_plan.h"
#include "devices/gpu/libraries/one_row.h"
#include "devices/gpu/libraries/provider.h"
#include "devices/gpu/libraries/scale_tiles.h"
#include "devices/gpu/libraries/staging.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

class ProductNode : public VendorKernel {
 public:
  /// `tiles`: kernel bringing block scales into tiles, if needed.
  ProductNode(Lt& lt, Product product, const LtTypes& types, std::unique_ptr<LtPlan> plan, Scales scales,
              const BlockScales& blocks, Function tiles)
      : lt_(lt),
        product_(std::move(product)),
        types_(types),
        plan_(std::move(plan)),
        scales_(scales),
        blocks_(blocks),
        tiles_(tiles) {
    workspace_ = plan_->aligned->workspace;
    if (plan_->unaligned) {
      workspace_ = std::max<std::uint64_t>(workspace_, plan_->unaligned->workspace);
    } else {
      staging_.emplace(product_, types_);
    }
  }

  std::uint64_t scratch_bytes() const override {
    const std::uint64_t own = workspace_ + scale_bytes() + (staging_ ? staging_->bytes() : 0);
    return own == 0 ? 0 : own + kScratchAlignment;
  }

  tern_device_status run(Stream stream, const tern_device_op& op, Address scratch) override {
    ProductAddresses at{op.inputs[1].data, op.inputs[0].data, op.outputs[0].data, op.outputs[0].data};
    if (product_.addend != Addend::none) at.c = op.inputs[2].data;
    if (product_.has_residual) at.residual = op.inputs[3].data;
    scratch = aligned(scratch, kScratchAlignment);
    Address room = scratch + workspace_;
    if (scales_ == Scales::blocks) {
      TERN_GPU_TRY(tile_scales(stream, &room, product_.a, blocks_.b_in_tiles, at.a, &at.scale_a));
      TERN_GPU_TRY(tile_scales(stream, &room, product_.b, blocks_.a_in_tiles, at.b, &at.scale_b));
    } else if (scales_ != Scales::none) {
      at.scale_a = op.inputs[4].data, at.scale_b = op.inputs[3].data;
      TERN_GPU_TRY(align_scales(stream, &room, product_.d.rows, &at.scale_a));
      TERN_GPU_TRY(align_scales(stream, &room, product_.d.columns, &at.scale_b));
    }
    if (!staging_) return multiply(stream, at, scratch);
    const ProductAddresses given = at;
    TERN_GPU_TRY(staging_->copy_in(stream, room, &at));
    TERN_GPU_TRY(multiply(stream, at, scratch));
    return staging_->copy_out(stream, at, given);
  }

 private:
  static constexpr std::uint64_t kScratchAlignment = 256;
  static constexpr std::int64_t kBlock = 32;

  /// Bytes for copies of the scale vectors.
  std::uint64_t scale_bytes() const {
    if (scales_ == Scales::blocks)
      return grid_of(product_.a).tile_bytes() + grid_of(product_.b).tile_bytes() + 2 * kLtAlignment;
    if (scales_ != Scales::rows) return 0;
    return static_cast<std::uint64_t>(product_.d.rows + product_.d.columns) * sizeof(float) + 2 * kLtAlignment;
  }
  /// The heuristic assumed vectors aligned to 16 bytes; other vectors (parts of tensors) are copied.
  tern_device_status align_scales(Stream stream, Address* room, std::int64_t count, Address* scales) const {
    if (scales_ != Scales::rows || *scales % kLtAlignment == 0) return TERN_DEVICE_OK;
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * sizeof(float);
    const Address copy = aligned(*room, kLtAlignment);
    TERN_GPU_TRY(checked(api().copy_within(copy, *scales, bytes, stream), "copying scales"));
    *scales = copy;
    *room = copy + bytes;
    return TERN_DEVICE_OK;
  }

  /// Scales of a matrix with contiguous consecutive columns.
  static ScaleTileGrid grid_of(const Matrix& m) { return {m.columns, m.rows / kBlock}; }
  /// Brings the scales after an operand's elements into tiles.
  tern_device_status tile_scales(Stream stream, Address* room, const Matrix& m, bool in_tiles, Address elements,
                                 Address* scales) const {
    const ScaleTileGrid grid = grid_of(m);
    *scales = elements + static_cast<Address>(m.columns * m.rows);
    if (in_tiles && *scales % kLtAlignment == 0) return TERN_DEVICE_OK;
    const Address from = *scales;
    *scales = aligned(*room, kLtAlignment);
    *room = *scales + grid.tile_bytes();
    if (!in_tiles) return make_scale_tiles(tiles_, stream, grid, from, *scales);
    return checked(api().copy_within(*scales, from, grid.tile_bytes(), stream), "copying scales");
  }

  tern_device_status multiply(Stream stream, const ProductAddresses& first, Address scratch) {
    const std::lock_guard lock(lt_.lock);
    LtHandle handle = nullptr;
    TERN_GPU_TRY(lt_handle(lt_, stream, &handle));
    if (scales_ != Scales::none) {
      TERN_GPU_TRY(set(names::kLtScaleA, first.scale_a, "setting the scales of a product"));
      TERN_GPU_TRY(set(names::kLtScaleB, first.scale_b, "setting the scales of a product"));
    }
    for (const Offsets& o : product_.calls) {
      const Address a = first.a + static_cast<Address>(o.a) * types_.bytes;
      const Address b = first.b + static_cast<Address>(o.b) * types_.bytes;
      const Address d = first.d + static_cast<Address>(o.d) * types_.out_bytes;
      const Address addend = first.c + static_cast<Address>(o.c) * types_.out_bytes;
      const bool has_vector = product_.addend == Addend::vector;
      const Address residual = first.residual + static_cast<Address>(o.d) * types_.out_bytes;
      const Address c = product_.addend == Addend::matrix ? addend : product_.has_residual ? residual : d;
      if (has_vector) TERN_GPU_TRY(set(names::kLtBiasPointer, addend, "setting the bias of a product"));
      const bool all = ((a | b | c | d | (has_vector ? addend : 0)) % kLtAlignment) == 0;
      const LtChoice& choice = all || !plan_->unaligned ? *plan_->aligned : *plan_->unaligned;
      TERN_GPU_TRY(call(handle, stream, {a, b, c, d}, choice, scratch));
    }
    return TERN_DEVICE_OK;
  }

  tern_device_status set(int attribute, Address address, const char* call) {
    return lt_checked(lt_.api.product_set(plan_->product.get(), attribute, &address, sizeof address), call);
  }

  tern_device_status call(LtHandle handle, Stream stream, const ProductAddresses& at, const LtChoice& choice,
                          Address scratch) {
    const int beta = product_.addend == Addend::matrix || product_.has_residual ? 1 : 0;
    const double wide[] = {1, static_cast<double>(beta)};
    const float single[] = {1, static_cast<float>(beta)};
    const std::int32_t whole[] = {1, beta};
    const auto factor = [&](int i) -> const void* {
      switch (types_.factor) {
        case LtFactor::wide: return &wide[i];
        case LtFactor::integer: return &whole[i];
        case LtFactor::single: break;
      }
      return &single[i];
    };
    const auto pointer = [](Address address) { return reinterpret_cast<void*>(address); };
    return lt_checked(lt_.api.multiply(handle, plan_->product.get(), factor(0), pointer(at.a), plan_->a.get(),
                                       pointer(at.b), plan_->b.get(), factor(1), pointer(at.c), plan_->c.get(),
                                       pointer(at.d), plan_->d.get(), &choice.algorithm,
                                       choice.workspace == 0 ? nullptr : pointer(scratch), choice.workspace, stream),
                      "multiplying");
  }

  Lt& lt_;
  const Product product_;
  const LtTypes types_;
  const std::unique_ptr<LtPlan> plan_;
  const Scales scales_;
  const BlockScales blocks_;
  const Function tiles_;
  std::uint64_t workspace_ = 0;
  std::optional<Staging> staging_;  ///< set if the library accepts aligned addresses only
};

}  // namespace

bool has_product(const tern_device_op& op) {
  return !is_microscaled(op) && !is_own_row(op) && !rounds_sums(op, op.outputs[0].dtype) &&
         !lt_types(op).computes.empty();
}

namespace {

/// True for a single product whose operands have contiguous rows along the depth.
bool takes_blocks(const Product& p) {
  return p.batch == 1 && p.calls.size() == 1 && p.a.transposed && !p.b.transposed && p.a.leading == p.a.rows &&
         p.b.leading == p.b.rows;
}

std::unique_ptr<VendorKernel> prepare(const GpuDevice& d, const tern_device_op& op, Activation activation,
                                      Scales scales, const BlockScales& blocks = {}, bool has_residual = false) {
  const LtTypes types = lt_types(op);
  std::optional<Product> product = product_of(op);
  if (!product || types.computes.empty()) return nullptr;
  if (has_residual && product->addend == Addend::matrix) return nullptr;
  product->has_residual = has_residual;
  if (scales == Scales::blocks && !takes_blocks(*product)) return nullptr;
  if (scales != Scales::blocks && rounds_sums(op, op.outputs[0].dtype)) return nullptr;
  Lt& library = lt(d);
  if (!library.why.empty()) return nullptr;
  std::unique_ptr<LtPlan> plan = lt_plan(library, *product, types, activation, scales);
  if (plan == nullptr) return nullptr;
  // Misaligned results are copied only as a single whole result.
  if (!plan->unaligned && (product->calls.size() > 1 || has_residual || product->has_gaps())) return nullptr;
  Function tiles = nullptr;
  if (scales == Scales::blocks && !(blocks.a_in_tiles && blocks.b_in_tiles)) {
    tiles = scale_tiles(d);
    if (tiles == nullptr) return nullptr;
  }
  return std::make_unique<ProductNode>(library, std::move(*product), types, std::move(plan), scales, blocks, tiles);
}

}  // namespace

std::unique_ptr<VendorKernel> prepare_product(const GpuDevice& d, const tern_device_op& op, Activation activation) {
  return prepare(d, op, activation, Scales::none);
}

std::unique_ptr<VendorKernel> prepare_product_sum(const GpuDevice& d, const tern_device_op& op) {
  if (!has_product(op) || is_float8(op)) return nullptr;
  return prepare(d, op, Activation::none, Scales::none, {}, true);
}

std::unique_ptr<VendorKernel> prepare_scaled_product(const GpuDevice& d, const tern_device_op& op, Scales scales) {
  return prepare(d, op, Activation::none, scales);
}

std::unique_ptr<VendorKernel> prepare_microscaled_product(const GpuDevice& d, const tern_device_op& op,
                                                          const BlockScales& scales) {
  return prepare(d, op, Activation::none, Scales::blocks, scales);
}

}  // namespace tern::gpu
