// Gradients of attention and distances.
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

constexpr GradientEntry kContractionsRules[] = {
    {Op::attention, differentiate_attention},
    {Op::cdist, differentiate_cdist},
};

}  // namespace

std::span<const GradientEntry> gradients_of_contractions() {
  return kContractionsRules;
}

}  // namespace tern
