// Producer and readers of each value of a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Operand `operand` of node `node` is the value.
struct ValueReader {
  std::size_t node = 0, operand = 0;
};

/// Describes a function at the time of construction. Nodes are numbers in Function::nodes. Absent values (kNoValue)
/// have neither a producer nor readers.
class DefUse {
 public:
  explicit DefUse(const Function& f);

  /// Number of the node that computes `v`; -1 for an input of the function.
  std::int64_t producer(ValueId v) const { return has(v) ? producers_[index(v)] : -1; }
  /// The node of `f`, whose nodes have kept their numbers, that computes `v`; null for an input.
  const Node* producing_node(const Function& f, ValueId v) const {
    return producer(v) < 0 ? nullptr : &f.nodes[static_cast<std::size_t>(producer(v))];
  }
  /// Operands of nodes, in the order of the nodes.
  std::span<const ValueReader> readers(ValueId v) const {
    if (!has(v)) return {};
    return std::span(readers_).subspan(first_reader_[index(v)], first_reader_[index(v) + 1] - first_reader_[index(v)]);
  }
  /// Number of outputs and write-backs of the function that hold `v`.
  std::size_t result_count(ValueId v) const { return has(v) ? result_counts_[index(v)] : 0; }
  /// Operands, outputs and write-backs.
  std::size_t read_count(ValueId v) const { return readers(v).size() + result_count(v); }
  bool is_read(ValueId v) const { return read_count(v) > 0; }
  /// True if exactly `count` nodes read `v`, and the function does not return it.
  bool is_read_by_nodes(ValueId v, std::size_t count) const;

 private:
  bool has(ValueId v) const { return v != kNoValue && index(v) < producers_.size(); }
  static std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }

  std::vector<std::int64_t> producers_;
  std::vector<std::size_t> result_counts_;
  std::vector<std::size_t> first_reader_;  ///< offsets in readers_, one more than values
  std::vector<ValueReader> readers_;
};

}  // namespace tern
