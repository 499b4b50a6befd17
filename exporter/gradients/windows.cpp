// Gradients of windows.
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

constexpr GradientEntry kWindowsRules[] = {
    {Op::convolution, differentiate_convolution},
    {Op::pool, differentiate_pool},
    {Op::adaptive_pool, differentiate_adaptive_pool},
    {Op::fractional_pool, differentiate_fractional_pool},
    {Op::fold, differentiate_fold},
};

}  // namespace

std::span<const GradientEntry> gradients_of_windows() {
  return kWindowsRules;
}

}  // namespace tern
