// Float products on matrix tiles.
#include "kernels/cpu/products/algorithms/tiles_in_place.h"
#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::cpu {
namespace {

class ProductTiles : public PreparedAlgorithm {
 public:
  ProductTiles(const tiles::TileLinearShape& shape, std::unique_ptr<PreparedAlgorithm> otherwise)
      : tiles_(shape), otherwise_(std::move(otherwise)) {
    choice = {Algorithm::tiles};
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    room(arena);
    otherwise_->reserve(c, arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const bool done = tiles_.run({c.in[0].data_as<const float>(),
                                  c.in[1].data,
                                  c.has_input(2) ? c.in[2].data_as<const float>() : nullptr,
                                  c.out[0].data_as<float>(),
                                  {epilogue, &c},
                                  c.in[1].dtype},
                                 room(arena));
    return done ? RemainingWork::nothing : otherwise_->run(c, arena, epilogue);
  }

 private:
  std::byte* room(ScratchArena& arena) const {
    return arena.allocate<std::byte>(static_cast<std::int64_t>(tiles_.scratch()));
  }

  tiles::SplitLinear tiles_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< computes results that are not finite
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_tiles(const ProductProperties& p) {
  if (auto rows = prepare_tiles_in_place(p)) return rows;
  if (auto long_sums = prepare_tiles_long_sums(p)) return long_sums;
  const bool bytes = tiles::is_one_part(p.call.in[1].dtype);
  if (!p.floats && !(p.float_call && bytes)) return nullptr;
  const LinearShape& s = p.linear->shape;
  const tiles::TileLinearShape shape{s.m, s.n, s.k, s.x_row, s.w_row, tiles::parts_of(p.call)};
  if (!tiles::available() || !tiles::SplitLinear::suits(shape)) return nullptr;
  // Blocks would need memory for a float weight.
  return std::make_unique<ProductTiles>(shape, bytes ? prepare_in_place(p) : prepare_blocks(p));
}

}  // namespace tern::cpu
