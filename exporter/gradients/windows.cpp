// Gradients of windows.
#include "exporter/gradients/rule.h"

namespace tern {

std::span<const GradientEntry> gradients_of_windows() {
  return {};
}

}  // namespace tern
