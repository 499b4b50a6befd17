#include "exporter/training/early_steps.h"

#include <algorithm>
#include <numeric>

#include "schema/def_use.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// Bytes of gradients per step node.
constexpr std::uint64_t kTogether = std::uint64_t{2} << 20;

/// Possible base of each value as a view; the value itself if none.
std::vector<ValueId> bases_of(const Function& f, std::size_t end) {
  std::vector<ValueId> base(f.values.size());
  std::iota(base.begin(), base.end(), ValueId{0});
  for (std::size_t i = 0; i < end; ++i) {
    const Node& n = f.nodes[i];
    if (!is_view(n.op) || n.inputs.empty() || n.inputs[0] == kNoValue) continue;
    for (ValueId v : n.outputs) base[v] = base[n.inputs[0]];
  }
  return base;
}

/// Last node reading each value or a view of the value.
std::vector<std::int64_t> last_readers(const Function& f, std::size_t end) {
  const std::vector<ValueId> base = bases_of(f, end);
  std::vector<std::int64_t> last(base.size(), -1);
  for (std::size_t i = 0; i < end; ++i) {
    for (ValueId v : f.nodes[i].inputs) {
      if (v != kNoValue) last[base[v]] = static_cast<std::int64_t>(i);
    }
  }
  return last;
}

}  // namespace

std::int64_t last_reader(const Function& f, std::size_t end, const std::vector<ValueId>& values) {
  const std::vector<std::int64_t> last = last_readers(f, end);
  std::int64_t found = -1;
  for (ValueId v : values) found = std::max(found, last[v]);
  return found;
}

std::vector<std::vector<std::size_t>> early_steps(Builder& b, const std::vector<ValueId>& params,
                                                  const std::vector<ValueId>& gradients) {
  const DefUse def_use(b.function());
  const std::vector<std::int64_t> readers = last_readers(b.function(), b.function().nodes.size());
  const auto ready_index = [&](std::size_t i) { return std::max(def_use.producer(gradients[i]), readers[params[i]]); };
  std::vector<std::size_t> order(params.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, ready_index);
  std::vector<std::vector<std::size_t>> lists;
  std::uint64_t bytes = kTogether;
  for (std::size_t i : order) {
    std::uint64_t size = 0;
    if (!byte_size(b.type(gradients[i]), &size)) size = kTogether;
    if (bytes >= kTogether) {
      lists.emplace_back();
      bytes = 0;
    }
    lists.back().push_back(i);
    bytes += size;
  }
  for (std::vector<std::size_t>& list : lists) std::ranges::sort(list);
  std::ranges::reverse(lists);
  return lists;
}

}  // namespace tern
