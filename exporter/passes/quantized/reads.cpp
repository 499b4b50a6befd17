#include "exporter/passes/quantized/reads.h"

#include <algorithm>
#include <set>

#include "schema/kinds.h"

namespace tern::quantized {
namespace {

const TensorType& type(const Function& f, ValueId v) {
  return f.values[static_cast<std::size_t>(v)].type;
}

bool is_weight_type(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

std::vector<std::int64_t> sizes_of_reads(const TensorType& t) {
  std::vector<std::int64_t> sizes;
  for (const Dim& d : t.shape) sizes.push_back(d.is_const() ? d.value() : -1);
  return sizes;
}

std::int64_t product(const std::vector<std::int64_t>& sizes, std::size_t first, std::size_t last) {
  std::int64_t n = 1;
  for (std::size_t i = first; i < last; ++i) n *= sizes[i];
  return n;
}

}  // namespace

std::optional<WeightRead> read_of(const Function& f, const Node& n) {
  WeightRead r;
  switch (n.op) {
    case Op::matmul:
    case Op::grouped_matmul:
    case Op::convolution: r.operand = 1; break;
    case Op::index_select: r.operand = 0; break;
    case Op::embedding_bag:
      // Padding rows, and argmax rows of maxima, need the whole table.
      if (n.integer(AttrKey::padding_index) != -1 ||
          n.integer(AttrKey::kind) == static_cast<std::int64_t>(BagKind::max))
        return std::nullopt;
      r.operand = 0;
      break;
    default: return std::nullopt;
  }
  const TensorType& t = type(f, n.inputs[r.operand]);
  if (t.quantized() || t.rank() < 2 || !is_weight_type(t.dtype)) return std::nullopt;
  if (r.operand == 1 && !is_weight_type(type(f, n.inputs[0]).dtype)) return std::nullopt;
  const std::vector<std::int64_t> sizes = sizes_of_reads(t);
  if (std::ranges::find_if(sizes, [](std::int64_t s) { return s < 1; }) != sizes.end()) return std::nullopt;
  const std::size_t last = sizes.size() - 1;
  r.shape = sizes;
  if (r.operand == 0) {
    const std::int64_t axis = n.op == Op::index_select ? n.integer(AttrKey::axis) : 0;
    if ((axis < 0 ? axis + t.rank() : axis) == t.rank() - 1) return std::nullopt;
    r.rows = product(sizes, 0, last);
    r.columns = sizes[last];
  } else if (n.op == Op::convolution) {
    if (n.integer(AttrKey::transposed) != 0) return std::nullopt;
    r.rows = sizes[0];
    r.columns = product(sizes, 1, sizes.size());
    r.shape = {r.rows, r.columns};
  } else {
    r.is_transposed = true;
    r.planes = product(sizes, 0, last - 1);
    r.rows = r.planes * sizes[last];
    r.columns = sizes[last - 1];
    std::swap(r.shape[last], r.shape[last - 1]);
  }
  return r;
}

void read_instead(Builder& b, Node& n, std::size_t operand, ValueId weight) {
  switch (n.op) {
    case Op::index_select: n.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(b.dtype(n.outputs[0]))}); break;
    case Op::convolution: {
      const Dims& sizes = b.shape(n.inputs[1]);
      n.set(AttrKey::kernel, Dims(sizes.begin() + 2, sizes.end()));
      break;
    }
    case Op::embedding_bag: {
      const DType numbers = b.dtype(n.inputs[0]);
      b.set_origin(n.origin, n.annotations);
      weight = b.add(Op::index_select, {weight, n.inputs[1]}, {attr(AttrKey::axis, Dim(0)), attr_dtype(numbers)});
      n.inputs[1] = b.iota(b.size(n.inputs[1], 0), DType::i64);
      break;
    }
    default: break;
  }
  n.inputs[operand] = weight;
}

std::vector<bool> table_readers(const Function& f, const ConstantPart& constants) {
  std::vector<bool> found(f.nodes.size());
  std::set<std::uint32_t> tables;
  const auto states_of = [&](ValueId v) { return constants.slice(v).states; };
  for (const Node& n : f.nodes) {
    const bool table = n.op == Op::index_select || n.op == Op::embedding_bag;
    if (!table || !constants.constant(n.inputs[0]) || constants.constant(n.outputs[0]) || !read_of(f, n)) continue;
    const std::vector<std::uint32_t> states = states_of(n.inputs[0]);
    tables.insert(states.begin(), states.end());
  }
  if (tables.empty()) return found;
  const auto of_tables = [&](ValueId v) {
    return constants.constant(v) &&
           std::ranges::any_of(states_of(v), [&](std::uint32_t s) { return tables.contains(s); });
  };
  // States with other readers are no tables.
  std::set<std::uint32_t> shared;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    const Node& n = f.nodes[i];
    if (n.outputs.empty() || constants.constant(n.outputs[0])) continue;  // an assertion has no result
    const std::optional<WeightRead> weight_read = read_of(f, n);
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const ValueId v = n.inputs[k];
      if (v == kNoValue || !of_tables(v)) continue;
      if (weight_read && weight_read->operand == k) {
        found[i] = true;
      } else {
        const std::vector<std::uint32_t> states = states_of(v);
        shared.insert(states.begin(), states.end());
      }
    }
  }
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (!found[i]) continue;
    const std::vector<std::uint32_t> states = states_of(f.nodes[i].inputs[read_of(f, f.nodes[i])->operand]);
    found[i] = std::ranges::none_of(states, [&](std::uint32_t s) { return shared.contains(s); });
  }
  return found;
}

}  // namespace tern::quantized
