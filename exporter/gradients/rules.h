// Rules with a file of their own, for the tables of their families.
#pragma once

#include "exporter/gradients/rule.h"

namespace tern {

// windows
void differentiate_convolution(GradientCall& c);
void differentiate_pool(GradientCall& c);
void differentiate_adaptive_pool(GradientCall& c);
void differentiate_fractional_pool(GradientCall& c);
void differentiate_fold(GradientCall& c);

// contractions
void differentiate_attention(GradientCall& c);
void differentiate_cdist(GradientCall& c);

// indexing
void differentiate_scatter(GradientCall& c);
void differentiate_embedding_bag(GradientCall& c);

// sequences
void differentiate_scan(GradientCall& c);
void differentiate_segment_reduce(GradientCall& c);
void differentiate_rnn(GradientCall& c);

// sampling
void differentiate_grid_sample(GradientCall& c);
void differentiate_roi_align(GradientCall& c);
void differentiate_roi_pool(GradientCall& c);

// spectral
void differentiate_fft(GradientCall& c);
void differentiate_eigh(GradientCall& c);
void differentiate_eig(GradientCall& c);
void differentiate_svd(GradientCall& c);
void differentiate_matrix_exp(GradientCall& c);

// linalg
void differentiate_cholesky(GradientCall& c);
void differentiate_qr(GradientCall& c);
void differentiate_householder(GradientCall& c);
void differentiate_lu_factor(GradientCall& c);
void differentiate_lu_solve(GradientCall& c);
void differentiate_triangular_solve(GradientCall& c);
void differentiate_ldl_solve(GradientCall& c);
void differentiate_lstsq(GradientCall& c);

}  // namespace tern
