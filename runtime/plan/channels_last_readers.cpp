// Finds values whose readers take channels last; kernels weigh the reorders of their results by them.
#include <algorithm>

#include "runtime/plan/passes.h"
#include "schema/epilogue.h"

namespace tern {
namespace {

constexpr std::int64_t kManyChannels = 16;  // a convolution of fewer has other algorithms as fast

class ChannelsLastReaders {
 public:
  explicit ChannelsLastReaders(Draft& d) : d_(d) { d_.read_channels_last.assign(d_.f.values.size(), false); }

  void find() {
    for (std::size_t i = d_.resolved.size(); i-- > 0;) {
      const Node& n = *d_.resolved[i];
      if (n.outputs.empty() || n.outputs[0] == kNoValue || !takes_channels_last(n)) continue;
      for (std::size_t k = 0; k < n.inputs.size(); ++k) {
        // The weight of a convolution is not an image; operands of its expression are.
        if (n.inputs[k] != kNoValue && (n.op != Op::convolution || k == 0 || k >= kEpilogueOperands))
          d_.read_channels_last[static_cast<std::size_t>(n.inputs[k])] = true;
      }
    }
  }

 private:
  bool result_is_read(const Node& n) const { return d_.read_channels_last[static_cast<std::size_t>(n.outputs[0])]; }

  bool takes_channels_last(const Node& n) const {
    switch (n.op) {
      case Op::convolution: return has_many_channels(n) || result_is_read(n);
      case Op::pool:
      case Op::adaptive_pool:
      case Op::reduce: return true;  // fast in either order
      case Op::pointwise: return result_is_read(n);
      case Op::permute: return moves_channels_last(n.dims(AttrKey::axes));
      case Op::reshape: return keeps_channels(n) && result_is_read(n);
      default:
        return d_.prepared.kernels->kernels[static_cast<std::size_t>(n.op)].channels_last != nullptr &&
               result_is_read(n);
    }
  }

  bool has_many_channels(const Node& n) const {
    const auto size = [&](std::size_t input, std::size_t axis) {
      const TensorType& type = d_.type(n.inputs[input]);
      return axis < type.shape.size() && type.shape[axis].is_const() ? type.shape[axis].value() : 0;
    };
    return size(1, 0) >= kManyChannels && size(1, 1) > 1;
  }

  /// Axis 1 goes to the end, the others keep their order.
  static bool moves_channels_last(const Dims& axes) {
    const std::size_t rank = axes.size();
    if (rank < 3) return false;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t want = i == 0 ? 0 : i + 1 == rank ? 1 : static_cast<std::int64_t>(i) + 1;
      const std::int64_t axis = axes[i].value();
      if ((axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis) != want) return false;
    }
    return true;
  }

  /// Images stay images: the first two sizes remain.
  bool keeps_channels(const Node& n) const {
    const auto &from = d_.type(n.inputs[0]).shape, &to = d_.type(n.outputs[0]).shape;
    return from.size() > 2 && to.size() > 2 && std::ranges::equal(std::span(from).first(2), std::span(to).first(2));
  }

  Draft& d_;
};

}  // namespace

void find_channels_last_readers(Draft& d) {
  ChannelsLastReaders(d).find();
}

}  // namespace tern
