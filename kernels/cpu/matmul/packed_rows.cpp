#include "kernels/cpu/matmul/packed_rows.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/cpu/amx/packed.h"
#include "kernels/cpu/amx/row_linear.h"

namespace tern::cpu {
namespace {

class PackedRows : public PreparedAlgorithm {
 public:
  PackedRows(const amx::LinearShape& shape, const std::byte* weight, std::unique_ptr<PreparedAlgorithm> otherwise)
      : shape_(shape), tiles_(shape), weight_(weight), otherwise_(std::move(otherwise)) {
    choice = {Algorithm::tiles};
    unread = 1u << 1;
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override {
    room(parts);
    otherwise_->reserve(c, parts);
  }

  Left run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override {
    const bool done = tiles_.run({c.in[0].as<const float>(),
                                  weight_,
                                  c.has(2) ? c.in[2].as<const float>() : nullptr,
                                  c.out[0].as<float>(),
                                  {epilogue, &c}},
                                 room(parts));
    if (done) return Left::nothing;
    // The exported weight was not read: it is made again from the packed one.
    std::vector<float> weight(static_cast<std::size_t>(shape_.n * shape_.k));
    tiles_.unpack(weight_, weight.data());
    std::vector<TensorView> in(c.in.begin(), c.in.end());
    in[1].data = reinterpret_cast<std::byte*>(weight.data());
    in[1].strides[static_cast<std::size_t>(in[1].rank) - 1] = shape_.k;
    KernelCall call = c;
    call.in = in;
    return otherwise_->run(call, parts, epilogue);
  }

 private:
  std::byte* room(ScratchParts& parts) const {
    return parts.take<std::byte>(static_cast<std::int64_t>(tiles_.scratch()));
  }

  amx::LinearShape shape_;
  amx::RowLinear tiles_;
  const std::byte* weight_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< for results that are not finite
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> product_of_packed_rows(const Product& p, const amx::LinearShape& shape) {
  if (shape.parts != amx::kRounded) return nullptr;
  const amx::RowLinear tiles(shape);
  const auto* weight = p.call.in[1].as<const float>();
  const std::byte* packed =
      amx::stored_weight(p.call, 1, fmt::format("bfloat16 in blocks of 32 rows: {} of {}", shape.n, shape.k),
                         tiles.packed_bytes(), [tiles, weight](std::byte* to) { tiles.pack(weight, to); });
  if (packed == nullptr) return nullptr;
  return std::make_unique<PackedRows>(shape, packed, product_by_blocks(p));
}

}  // namespace tern::cpu
