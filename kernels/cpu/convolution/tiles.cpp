// Float convolutions on matrix tiles.
#include <algorithm>
#include <vector>

#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/tile_convolution.h"
#include "kernels/cpu/products/packed_weight.h"

namespace tern::cpu {
namespace {

class ConvolutionTiles : public PreparedAlgorithm {
 public:
  ConvolutionTiles(std::unique_ptr<TileConvolution> tiles, std::unique_ptr<PreparedAlgorithm> otherwise)
      : tiles_(std::move(tiles)), otherwise_(std::move(otherwise)) {
    choice = {Algorithm::tiles};
    unread = tiles_->is_packed() ? 1u << 1 : 0;
  }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    room(arena);
    otherwise_->reserve(c, arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    if (tiles_->run(c, epilogue, room(arena))) return RemainingWork::nothing;
    if (!tiles_->is_packed()) return otherwise_->run(c, arena, epilogue);
    // Restores the exported weight, which was never loaded, from the packed weight.
    std::vector<float> weight(static_cast<std::size_t>(c.in[1].numel()));
    tiles_->unpack(weight.data());
    std::vector<TensorView> in(c.in.begin(), c.in.end());
    in[1].data = reinterpret_cast<std::byte*>(weight.data());
    KernelCall call = c;
    call.in = in;
    return otherwise_->run(call, arena, epilogue);
  }

 private:
  std::byte* room(ScratchArena& arena) const {
    return arena.allocate<std::byte>(static_cast<std::int64_t>(tiles_->scratch()));
  }

  std::unique_ptr<TileConvolution> tiles_;
  std::unique_ptr<PreparedAlgorithm> otherwise_;  ///< recomputes results that are not finite
};

std::unique_ptr<PreparedAlgorithm> otherwise(const ConvolutionCall& c) {
  if (auto planes = convolution_by_planes(c)) return planes;
  return convolution_by_blocks(c);
}

}  // namespace

std::unique_ptr<PreparedAlgorithm> convolution_on_tiles(const ConvolutionCall& c) {
  if (c.problem.transposed) return nullptr;
  const ConvolutionProblem& p = c.problem;
  auto tiles =
      TileConvolution::create(c.call, {p.window, p.batch, p.groups, p.in, p.out, tiles::parts_of(c.call)}, c.packs);
  if (tiles == nullptr) return nullptr;
  return std::make_unique<ConvolutionTiles>(std::move(tiles), otherwise(c));
}

}  // namespace tern::cpu
