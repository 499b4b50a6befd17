#include "exporter/llm/last_row.h"

#include <algorithm>
#include <unordered_map>

#include "schema/def_use.h"

namespace tern {
namespace {

class LastRow {
 public:
  explicit LastRow(Builder& b) : b_(b), def_use_(b.function()) {}

  ValueId last_row_of(ValueId v, std::size_t axis) {
    const Dim n = b_.shape(v)[axis];
    if (n.is(1)) return v;
    const auto cached = rows_.find(v);
    if (cached != rows_.end()) return cached->second;
    ValueId row = def_use_.read_count(v) == 1 ? computed(v, axis) : kNoValue;
    if (row == kNoValue) row = b_.slice(v, static_cast<std::int64_t>(axis), b_.pool().sub(n, 1), 1);
    rows_.emplace(v, row);
    return row;
  }

 private:
  ValueId computed(ValueId v, std::size_t axis) {
    const std::int64_t producer = def_use_.producer(v);
    if (producer < 0) return kNoValue;
    Node n = b_.function().nodes[static_cast<std::size_t>(producer)];
    if (std::ranges::count(n.outputs, kNoValue) + 1 != std::ssize(n.outputs)) return kNoValue;
    if (n.op == Op::rms_norm || n.op == Op::layer_norm) return norm(std::move(n), axis);
    if (n.op == Op::matmul) return product(std::move(n), axis);
    if (n.op == Op::pointwise) return pointwise(std::move(n), axis);
    return kNoValue;
  }

  /// Rows in front of the normalized axes.
  ValueId norm(Node n, std::size_t axis) {
    const std::int64_t in_front = b_.rank(n.inputs[0]) - n.integer(AttrKey::k);
    if (static_cast<std::int64_t>(axis) >= in_front) return kNoValue;
    n.inputs[0] = last_row_of(n.inputs[0], axis);
    return repeat_node(std::move(n));
  }

  /// Rows of a product are rows of its first operand.
  ValueId product(Node n, std::size_t axis) {
    const auto rank = static_cast<std::size_t>(b_.rank(n.outputs[0]));
    const bool rows = static_cast<std::size_t>(b_.rank(n.inputs[0])) == rank && axis + 2 == rank;
    const bool matrix = b_.rank(n.inputs[1]) == 2;
    const bool one_bias = n.inputs.size() < 3 || n.inputs[2] == kNoValue || b_.rank(n.inputs[2]) <= 1;
    if (!rows || !matrix || !one_bias) return kNoValue;
    n.inputs[0] = last_row_of(n.inputs[0], axis);
    return repeat_node(std::move(n));
  }

  ValueId pointwise(Node n, std::size_t axis) {
    if (n.has(AttrKey::sizes)) return kNoValue;
    const auto rank = static_cast<std::size_t>(b_.rank(n.outputs[0]));
    for (ValueId& v : n.inputs) {
      const std::size_t missing = rank - static_cast<std::size_t>(b_.rank(v));
      if (axis >= missing) v = last_row_of(v, axis - missing);
    }
    return repeat_node(std::move(n));
  }

  ValueId repeat_node(Node n) {
    n.outputs.clear();
    b_.set_origin(n.origin, n.annotations);
    const ValueId v = b_.add(std::move(n)).front();
    b_.set_origin(-1);
    return v;
  }

  Builder& b_;
  const DefUse def_use_;  ///< describes the function before the change
  std::unordered_map<ValueId, ValueId> rows_;
};

}  // namespace

ValueId last_row(Builder& b, ValueId v, std::size_t axis) {
  return LastRow(b).last_row_of(v, axis);
}

}  // namespace tern
