// Float products on matrix tiles.
#include <fmt/format.h>

#include <vector>

#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/packed.h"
#include "kernels/cpu/matmul/algorithms.h"

namespace tern::cpu {
namespace {

class Tiles : public PreparedAlgorithm {
 public:
  Tiles(const KernelCall& c, const amx::LinearShape& shape, std::unique_ptr<PreparedAlgorithm> otherwise)
      : shape_(shape), tiles_(shape), otherwise_(std::move(otherwise)) {
    choice = {Algorithm::tiles};
    if (shape.parts != amx::kRounded) return;
    const auto* weight = c.in[1].as<const float>();
    rounded_ = amx::stored_weight(c, 1, fmt::format("bfloat16 by 32 x 32: {} of {}", shape.n, shape.k),
                                  tiles_.rounded_bytes(), [tiles = tiles_, weight](std::byte* to) { tiles.round(weight, to); });
    unread = rounded_ != nullptr ? 1u << 1 : 0;
  }

  void reserve(const KernelCall& c, ScratchParts& parts) const override {
    room(parts);
    otherwise_->reserve(c, parts);
  }

  Left run(KernelCall& c, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override {
    const bool done = tiles_.run({c.in[0].as<const float>(),
                                  c.in[1].as<const float>(),
                                  c.has(2) ? c.in[2].as<const float>() : nullptr,
                                  c.out[0].as<float>(),
                                  {epilogue, &c},
                                  rounded_},
                                 room(parts));
    if (done) return Left::nothing;
    if (rounded_ == nullptr) return otherwise_->run(c, parts, epilogue);
    // The exported weight was not read: it is made again from the rounded one.
    std::vector<float> weight(static_cast<std::size_t>(shape_.n * shape_.k));
    tiles_.unpack(rounded_, weight.data());
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
  amx::Linear tiles_;
  const std::byte* rounded_ = nullptr;  ///< the weight, where it has been kept so
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< for results that are not finite
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> product_on_tiles(const Product& p) {
  if (!p.floats) return nullptr;
  const LinearShape& s = p.linear->shape;
  const amx::LinearShape shape{s.m, s.n, s.k, s.x_row, s.w_row, amx::parts_of(p.call)};
  if (!amx::available() || !amx::Linear::suits(shape)) return nullptr;
  return std::make_unique<Tiles>(p.call, shape, product_by_blocks(p));
}

}  // namespace tern::cpu
