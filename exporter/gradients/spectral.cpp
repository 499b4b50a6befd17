// Gradients of spectral.
#include "exporter/gradients/rule.h"

namespace tern {

std::span<const GradientEntry> gradients_of_spectral() {
  return {};
}

}  // namespace tern
