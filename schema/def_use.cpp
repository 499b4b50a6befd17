#include "schema/def_use.h"

namespace tern {

DefUse::DefUse(const Function& f)
    : producers_(f.values.size(), -1), result_counts_(f.values.size()), first_reader_(f.values.size() + 1) {
  const auto count_result = [&](ValueId v) {
    if (v != kNoValue) ++result_counts_[index(v)];
  };
  for (const FunctionOutput& o : f.outputs) count_result(o.value);
  for (const WriteBack& w : f.writebacks) count_result(w.value);
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    for (const ValueId v : f.nodes[i].outputs) {
      if (v != kNoValue) producers_[index(v)] = static_cast<std::int64_t>(i);
    }
    for (const ValueId v : f.nodes[i].inputs) {
      if (v != kNoValue) ++first_reader_[index(v) + 1];
    }
  }
  for (std::size_t v = 0; v < f.values.size(); ++v) first_reader_[v + 1] += first_reader_[v];
  readers_.resize(first_reader_.back());
  std::vector<std::size_t> next = first_reader_;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    for (std::size_t k = 0; k < f.nodes[i].inputs.size(); ++k) {
      if (const ValueId v = f.nodes[i].inputs[k]; v != kNoValue) readers_[next[index(v)]++] = {i, k};
    }
  }
}

bool DefUse::is_read_by_nodes(ValueId v, std::size_t count) const {
  std::size_t nodes = 0;
  const std::span<const ValueReader> value_readers = readers(v);
  for (std::size_t i = 0; i < value_readers.size(); ++i)
    nodes += i == 0 || value_readers[i].node != value_readers[i - 1].node ? 1 : 0;
  return nodes == count && result_count(v) == 0;
}

}  // namespace tern
