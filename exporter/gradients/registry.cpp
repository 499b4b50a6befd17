#include "exporter/gradients/registry.h"

#include <array>
#include <string>

namespace tern {
namespace {

std::array<GradientRule, kMaxOp + 1> all_rules() {
  std::array<GradientRule, kMaxOp + 1> rules{};
#define TERN_GRADIENT_FAMILY(name) gradients_of_##name(),
  for (std::span<const GradientEntry> family : {TERN_GRADIENT_FAMILIES(TERN_GRADIENT_FAMILY)}) {
    for (const GradientEntry& e : family) rules[static_cast<std::size_t>(e.op)] = e.rule;
  }
#undef TERN_GRADIENT_FAMILY
  return rules;
}

}  // namespace

GradientRule find_gradient_rule(Op op) {
  static const std::array<GradientRule, kMaxOp + 1> rules = all_rules();
  const auto number = static_cast<std::size_t>(op);
  return number < rules.size() ? rules[number] : nullptr;
}

const NoGradient* find_no_gradient(Op op) {
  for (const NoGradient& n : ops_without_gradient()) {
    if (n.op == op) return &n;
  }
  return nullptr;
}

std::string gradient_text(Op op) {
  if (find_gradient_rule(op) != nullptr) return "yes";
  const NoGradient* none = find_no_gradient(op);
  if (none == nullptr) return "not yet";
  return (none->kind == NoGradient::Kind::zero ? "none flows: " : "refused: ") + std::string(none->reason);
}

}  // namespace tern
