// Products by a weight in panels are convolutions of positions with their channels side by side.
#include "kernels/cpu/channels_last/panels.h"

#include "kernels/cpu/products/choose.h"

namespace tern::cpu {
namespace {

class Panels : public PreparedAlgorithm {
 public:
  /// Null where there are no panels. Few rows read the weight where it lies as fast, unless the archive has panels.
  static std::unique_ptr<PreparedAlgorithm> create(const KernelCall& c, const LinearShape& s) {
    auto made = std::make_unique<Panels>();
    made->rows_ = {.in = s.k, .out = s.n};
    made->rows_.window[1].in = made->rows_.window[1].out = s.m;
    constexpr std::int64_t kRowsOfPanels = 16;
    if (s.m >= kRowsOfPanels) {
      made->panels_ = channels_last::constant_panels(c, made->rows_);
    } else {
      made->panels_ = {std::shared_ptr<const float>(), channels_last::stored_panels(c, made->rows_)};
    }
    if (made->panels_ == nullptr) return nullptr;
    made->choice = {Algorithm::panels, made->rows_.divide(c.algorithm.variant)};
    made->unread = 1u << 1;
    return made;
  }

  void reserve(const KernelCall&, ScratchArena&) const override {}

  RemainingWork run(KernelCall& c, ScratchArena&, const pointwise::Epilogue* epilogue) const override {
    channels_last::convolve(
        rows_,
        {c.in[0].data_as<const float>(), c.in[1].data_as<const float>(),
         c.has_input(2) ? c.in[2].data_as<const float>() : nullptr, c.out[0].data_as<float>(), panels_.get()},
        {epilogue, &c});
    return RemainingWork::nothing;
  }

 private:
  channels_last::ChannelsLastShape rows_;
  std::shared_ptr<const float> panels_;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> prepare_panels(const ProductProperties& p) {
  const KernelCall& c = p.call;
  if (!p.floats) return nullptr;
  const LinearShape& s = p.linear->shape;
  if (s.x_row != s.k || (s.w_row != s.k && s.n != 1) || s.k == 1) return nullptr;
  return Panels::create(c, s);
}

}  // namespace tern::cpu
