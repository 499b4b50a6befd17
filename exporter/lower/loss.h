// Helpers of the lowerings of losses.
#pragma once

#include "exporter/lower/pointwise.h"

namespace tern {

/// The argument `reduction` (0: none, 1: mean, 2: sum) applied to the losses of all elements, and the result's dtype.
ValueId reduce_loss(Builder& b, const Call& c, ValueId losses);
/// Compute type of losses: float for the 16-bit types.
DType loss_type(const Call& c);
/// log(softmax(x)) along an axis, in `dtype`.
ValueId log_softmax_along(Builder& b, ValueId x, std::int64_t axis, DType dtype);

std::span<const Lowering> elementwise_loss_lowerings();  ///< mse, bce, huber ...
std::span<const Lowering> class_loss_lowerings();        ///< nll, cross entropy, margins over classes
std::span<const Lowering> ctc_loss_lowerings();          ///< connectionist temporal classification
std::span<const Lowering> distance_loss_lowerings();     ///< cosine, triplet, pairwise distances

}  // namespace tern
