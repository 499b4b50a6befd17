#include "schema/optim.h"

#include <algorithm>

namespace tern {
namespace {

constexpr OptimRecord kRecords[] = {
    // kind, hyper, m, v, third, step, product, modes, codes
    {OptimKind::sgd,
     {"lr", "momentum", "dampening", "weight_decay", "", ""},
     0,
     -1,
     -1,
     0,
     -1,
     kOptimNesterov | kOptimFirst | kOptimDecoupled,
     "s--"},
    {OptimKind::adam, {"lr", "beta1", "beta2", "weight_decay", "eps", ""}, 1, 1, 0, 1, -1, 0, "suu"},
    {OptimKind::adamw, {"lr", "beta1", "beta2", "weight_decay", "eps", ""}, 1, 1, 0, 1, -1, 0, "suu"},
    {OptimKind::adagrad, {"lr", "lr_decay", "", "weight_decay", "eps", ""}, -1, 1, -1, 1, -1, 0, "-u-"},
    {OptimKind::rmsprop, {"lr", "alpha", "momentum", "weight_decay", "eps", ""}, 0, 1, 0, 0, -1, 0, "sus"},
    {OptimKind::adadelta, {"lr", "rho", "", "weight_decay", "eps", ""}, 1, 1, -1, 0, -1, 0, "---"},
    {OptimKind::adamax, {"lr", "beta1", "beta2", "weight_decay", "eps", ""}, 1, 1, -1, 1, -1, 0, "su-"},
    {OptimKind::nadam,
     {"lr", "beta1", "beta2", "weight_decay", "eps", "momentum_decay"},
     1,
     1,
     -1,
     1,
     1,
     kOptimDecoupled,
     "su-"},
    {OptimKind::radam, {"lr", "beta1", "beta2", "weight_decay", "eps", ""}, 1, 1, -1, 1, -1, kOptimDecoupled, "su-"},
    {OptimKind::asgd, {"lr", "lambd", "alpha", "weight_decay", "t0", ""}, 1, -1, -1, 1, -1, 0, "---"},
    {OptimKind::rprop, {"", "etaminus", "etaplus", "", "step_min", "step_max"}, 1, 1, -1, 0, -1, 0, "---"},
    {OptimKind::lion, {"lr", "beta1", "beta2", "weight_decay", "", ""}, 1, -1, -1, 0, -1, 0, "s--"},
};
static_assert(std::size(kRecords) == kOptimKinds);

}  // namespace

const OptimRecord& optim_record(OptimKind kind) {
  return kRecords[static_cast<std::size_t>(kind)];
}

OptimLayout::OptimLayout(const Node& node) : kind(static_cast<OptimKind>(node.integer(AttrKey::kind))) {
  const Dims& counts = node.dims(AttrKey::counts);
  std::size_t start = 0;
  for (std::size_t i = 0; i < kOptimLists; ++i) {
    starts_[i] = start;
    if (counts.empty()) {
      counts_[i] = i < node.inputs.size() && node.inputs[i] != kNoValue ? 1 : 0;
      ++start;
    } else {
      counts_[i] = i < counts.size() ? static_cast<std::size_t>(counts[i].value()) : 0;
      start += counts_[i];
    }
  }
  for (OptimList list : kOptimResults) {
    const std::size_t i = index_of(list);
    is_result_[i] = counts_[i] > 0;
    if (list == OptimList::grad) is_result_[i] = has(OptimList::grad_scale);
    if (list == OptimList::step) is_result_[i] = is_result_[i] && (node.integer(AttrKey::mode) & kOptimAdvance) != 0;
    results_[i] = result_count_;
    if (is_result_[i]) result_count_ += counts_[i];
  }
}

OptimList OptimLayout::list_of(std::size_t operand) const {
  std::size_t i = kOptimLists;
  while (i > 1 && starts_[i - 1] > operand) --i;
  while (i > 1 && counts_[i - 1] == 0) --i;  // empty lists begin at the next list's start
  return static_cast<OptimList>(i - 1);
}

int OptimLayout::updated(std::size_t k) const {
  for (OptimList list : kOptimResults) {
    const std::size_t i = index_of(list);
    if (is_result_[i] && k >= results_[i] && k < results_[i] + counts_[i])
      return static_cast<int>(starts_[i] + (k - results_[i]));
  }
  return -1;
}

}  // namespace tern
