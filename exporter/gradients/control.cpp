// Gradients of control.
#include "exporter/gradients/rule.h"

namespace tern {

std::span<const GradientEntry> gradients_of_control() {
  return {};
}

}  // namespace tern
