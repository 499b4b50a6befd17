// Gradients of random numbers: none for the parameters of discrete distributions.
#include "exporter/gradients/rule.h"

namespace tern {
namespace {

void random(GradientCall& c) {
  if (c.node.text(AttrKey::kind) == "gamma")
    c.refuse("the derivative of gamma variates by their shape is not supported");
}

constexpr GradientEntry kRandomRules[] = {{Op::random, random}};

}  // namespace

std::span<const GradientEntry> gradients_of_random() {
  return kRandomRules;
}

}  // namespace tern
