// Gradients of Fourier transforms and of spectral ops.
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

constexpr GradientEntry kSpectralRules[] = {
    {Op::fft, differentiate_fft},
    {Op::eigh, differentiate_eigh},
    {Op::eig, differentiate_eig},
    {Op::svd, differentiate_svd},
    {Op::matrix_exp, differentiate_matrix_exp},
};

}  // namespace

std::span<const GradientEntry> gradients_of_spectral() {
  return kSpectralRules;
}

}  // namespace tern
