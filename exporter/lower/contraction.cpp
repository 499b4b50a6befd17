// Tables of products, windows, attention and recurrence, joined.
#include "exporter/lower/contraction.h"

#include <vector>

namespace tern {

std::span<const Lowering> contraction_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (std::span<const Lowering> table :
         {product_lowerings(), tensordot_lowerings(), convolution_lowerings(), pool_lowerings(), resize_lowerings(),
          attention_lowerings(), recurrent_lowerings(), packed_recurrent_lowerings(), distance_lowerings(),
          covariance_lowerings()}) {
      v.insert(v.end(), table.begin(), table.end());
    }
    return v;
  }();
  return lowerings;
}

}  // namespace tern
