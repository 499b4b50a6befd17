#include "exporter/gradients/permuted.h"

#include <utility>

namespace tern {
namespace {

/// The permute that makes x, or null.
const Node* producer(const Function& f, ValueId x) {
  for (std::size_t n = f.nodes.size(); n-- > 0;) {
    if (f.nodes[n].outputs.size() == 1 && f.nodes[n].outputs[0] == x) {
      return f.nodes[n].op == Op::permute ? &f.nodes[n] : nullptr;
    }
  }
  return nullptr;
}

}  // namespace

ValueId permuted(Builder& b, ValueId x, std::vector<std::int64_t> axes) {
  if (const Node* first = producer(b.function(), x)) {
    const ValueId from = first->inputs[0];
    const Dims& before = first->dims(AttrKey::axes);
    for (std::int64_t& a : axes) a = b.normal_axis(from, before[static_cast<std::size_t>(b.normal_axis(x, a))].value());
    x = from;
  }
  return b.permute(x, axes);
}

bool is_transposed(Builder& b, ValueId x) {
  return b.rank(x) == 2 && producer(b.function(), x) != nullptr;
}

ValueId transposed_matrix(Builder& b, ValueId x) {
  std::vector<std::int64_t> axes = b.all_axes(x);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permuted(b, x, std::move(axes));
}

}  // namespace tern
