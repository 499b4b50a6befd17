// Gradients of movement.
#include "exporter/gradients/rule.h"

namespace tern {

std::span<const GradientEntry> gradients_of_movement() {
  return {};
}

}  // namespace tern
