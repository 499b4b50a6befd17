#include "exporter/gradients/permuted.h"

#include <utility>

namespace tern {
namespace {

/// Permute node producing x, or null.
const Node* producer(GradientCall& c, ValueId x) {
  const Node* node = c.producers.producer_of(c.b.function(), x);
  return node != nullptr && node->op == Op::permute ? node : nullptr;
}

}  // namespace

ValueId permuted(GradientCall& c, ValueId x, std::vector<std::int64_t> axes) {
  Builder& b = c.b;
  if (const Node* first = producer(c, x)) {
    const ValueId source = first->inputs[0];
    const Dims& padding_before = first->dims(AttrKey::axes);
    for (std::int64_t& a : axes)
      a = b.normal_axis(source, padding_before[static_cast<std::size_t>(b.normal_axis(x, a))].value());
    x = source;
  }
  return b.permute(x, axes);
}

bool is_transposed(GradientCall& c, ValueId x) {
  return c.b.rank(x) == 2 && producer(c, x) != nullptr;
}

ValueId transposed_matrix(GradientCall& c, ValueId x) {
  std::vector<std::int64_t> axes = c.b.all_axes(x);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permuted(c, x, std::move(axes));
}

}  // namespace tern
