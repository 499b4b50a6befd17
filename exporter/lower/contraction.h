// Helpers and tables of the lowerings of products, windows, attention and recurrence.
#pragma once

#include <complex>
#include <span>

#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> product_lowerings();    ///< matmul, addmm, linear, outer ...
std::span<const Lowering> tensordot_lowerings();  ///< einsum, tensordot, kron, chains
std::span<const Lowering> convolution_lowerings();
std::span<const Lowering> pool_lowerings();
std::span<const Lowering> resize_lowerings();  ///< upsample_*, grid_sampler
std::span<const Lowering> attention_lowerings();
std::span<const Lowering> recurrent_lowerings();         ///< lstm, gru, rnn and their cells
std::span<const Lowering> packed_recurrent_lowerings();  ///< lstm, gru and rnn over packed sequences
std::span<const Lowering> distance_lowerings();          ///< cdist, pdist, pairwise_distance, cosine_similarity
std::span<const Lowering> covariance_lowerings();        ///< cov, corrcoef

/// torch.matmul's product for operands of any rank from 1; the result's type is `dtype`, or the type of `a` if invalid.
ValueId product(Builder& b, ValueId a, ValueId right, DType dtype = DType::invalid, ValueId bias = kNoValue);
/// Scalar argument, or `otherwise` if absent.
std::complex<double> scalar_or(const Call& c, ArgumentName name, std::complex<double> otherwise);
/// Conjugate of `x`; a real x is returned unchanged.
ValueId conjugate(Builder& b, ValueId x);

}  // namespace tern
