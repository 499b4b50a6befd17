#include "exporter/llm/slots/rules.h"

#include <algorithm>
#include <utility>

#include "schema/kinds.h"

namespace tern {
namespace {

void put_in_front(Node& result, AttrKey key, Dim d) {
  Dims sizes = result.dims(key);
  sizes.insert(sizes.begin(), d);
  result.set(key, sizes);
}

std::int64_t behind_texts(std::int64_t axis, int rank) {
  return (axis < 0 ? axis + rank : axis) + 1;
}

void move_axis(Operands& o, const Node& source, Node& result) {
  result.set(AttrKey::axis, Dims{behind_texts(source.integer(AttrKey::axis), o.rank(source.inputs[0]))});
}

bool all_each(Operands& o, const Node& source, Node& result) {
  for (const ValueId v : source.inputs) result.inputs.push_back(v == kNoValue ? v : o.values_of(v));
  return true;
}

// Moves an axis attribute behind the texts' axis; all operands have the axes of x.
bool along_axis(Operands& o, const Node& source, Node& result) {
  if (o.rank(source.inputs[0]) == 0) return false;
  for (const ValueId v : source.inputs) {
    if (v != kNoValue && o.rank(v) != o.rank(source.inputs[0])) return false;
  }
  move_axis(o, source, result);
  return all_each(o, source, result);
}

bool pointwise(Operands& o, const Node& source, Node& result) {
  const int rank = o.rank(source.outputs[0]);
  for (const ValueId v : source.inputs) result.inputs.push_back(o.aligned(v, rank));
  if (result.has(AttrKey::sizes)) put_in_front(result, AttrKey::sizes, o.texts());
  for (Instruction& i : result.expr.code) i.integer += i.op == Scalar::index ? 1 : 0;  // an axis of the result
  return true;
}

// A weight common to all texts is multiplied once, by the rows of all texts.
bool matmul(Operands& o, const Node& source, Node& result) {
  const ValueId a = source.inputs[0], b = source.inputs[1];
  if (o.is_shared(a) && o.is_shared(b)) return false;  // the bias is each text's
  const int rank = o.rank(source.outputs[0]);
  for (const ValueId v : source.inputs) result.inputs.push_back(v == kNoValue ? v : o.aligned(v, rank));
  return true;
}

bool attention(Operands& o, const Node& source, Node& result) {
  for (std::size_t i = 0; i < 3; ++i) result.inputs.push_back(o.values_of(source.inputs[i]));
  if (source.inputs.size() > 3 && source.inputs[3] != kNoValue)
    result.inputs.push_back(o.aligned(source.inputs[3], o.rank(source.inputs[0])));
  return true;
}

bool reshape(Operands& o, const Node& source, Node& result) {
  put_in_front(result, AttrKey::sizes, o.texts());
  return all_each(o, source, result);
}

bool expand(Operands& o, const Node& source, Node& result) {
  put_in_front(result, AttrKey::sizes, o.texts());
  result.inputs = {o.aligned(source.inputs[0], o.rank(source.outputs[0]))};
  return true;
}

bool permute(Operands& o, const Node& source, Node& result) {
  Dims axes = {0};
  for (const Dim axis : source.dims(AttrKey::axes))
    axes.push_back(behind_texts(axis.value(), o.rank(source.inputs[0])));
  result.set(AttrKey::axes, axes);
  return all_each(o, source, result);
}

bool reduce(Operands& o, const Node& source, Node& result) {
  const int rank = o.rank(source.inputs[0]);
  if (rank == 0) return false;
  Dims axes;
  for (const Dim axis : source.dims(AttrKey::axes)) axes.push_back(behind_texts(axis.value(), rank));
  if (axes.empty()) {  // all, but for the texts
    const auto kind = static_cast<ReduceKind>(source.integer(AttrKey::kind));
    if (rank > 1 && (kind == ReduceKind::argmax || kind == ReduceKind::argmin)) return false;  // accept a single axis
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis + 1);
  }
  result.set(AttrKey::axes, axes);
  return all_each(o, source, result);
}

// Normalizes the last axes, with weights common to all texts.
bool norm(Operands& o, const Node& source, Node& result) {
  result.inputs = {o.values_of(source.inputs[0])};
  for (std::size_t i = 1; i < source.inputs.size(); ++i) {
    const ValueId v = source.inputs[i];
    if (v != kNoValue && !o.is_shared(v)) return false;
    result.inputs.push_back(v == kNoValue ? v : o.shared(v));
  }
  return true;
}

bool pad(Operands& o, const Node& source, Node& result) {
  put_in_front(result, AttrKey::before, 0);
  put_in_front(result, AttrKey::after, 0);
  return all_each(o, source, result);
}

// Selects rows of a common table, such as embeddings; or the same rows from each text's table.
bool index_select(Operands& o, const Node& source, Node& result) {
  const ValueId x = source.inputs[0], index = source.inputs[1];
  if (o.is_shared(x)) {
    if (behind_texts(source.integer(AttrKey::axis), o.rank(x)) != 1) return false;
    result.inputs = {o.shared(x), o.values_of(index)};
    return true;
  }
  if (!o.is_shared(index)) return false;
  move_axis(o, source, result);
  result.inputs = {o.values_of(x), o.shared(index)};
  return true;
}

/// The number of each text, in the sizes of the index `like` of all texts.
ValueId text_numbers(Operands& o, ValueId like) {
  Builder& b = o.builder();
  Dims row_shape(b.shape(like).size(), Dim(1));
  row_shape[0] = o.texts();
  return b.expand(b.reshape(b.iota(o.texts(), DType::i64), row_shape), b.shape(like));
}

bool index(Operands& o, const Node& source, Node& result) {
  const ValueId x = source.inputs[0];
  std::vector<ValueId> indices;
  for (std::size_t i = 1; i < source.inputs.size(); ++i) indices.push_back(o.values_of(source.inputs[i]));
  result.inputs = {o.is_shared(x) ? o.shared(x) : o.values_of(x)};
  if (!o.is_shared(x)) result.inputs.push_back(text_numbers(o, indices[0]));
  result.inputs.insert(result.inputs.end(), indices.begin(), indices.end());
  return true;
}

bool index_put(Operands& o, const Node& source, Node& result) {
  std::vector<ValueId> indices;
  for (std::size_t i = 2; i < source.inputs.size(); ++i) indices.push_back(o.values_of(source.inputs[i]));
  const int retained = o.rank(source.inputs[0]) - static_cast<int>(indices.size());
  result.inputs = {o.values_of(source.inputs[0]), o.aligned(source.inputs[1], o.rank(source.inputs[2]) + retained),
                   text_numbers(o, indices[0])};
  result.inputs.insert(result.inputs.end(), indices.begin(), indices.end());
  return true;
}

bool assert_true(Operands& o, const Node& source, Node& result) {
  result.inputs = {o.builder().reduce(o.values_of(source.inputs[0]), "all", {0}, false, DType::boolean)};
  return true;
}

struct OpRule {
  Op op;
  Rule rule;
};

constexpr OpRule kSlotRules[] = {
    {Op::pointwise, pointwise},
    {Op::matmul, matmul},
    {Op::attention, attention},
    {Op::softmax, along_axis},
    {Op::layer_norm, norm},
    {Op::rms_norm, norm},
    {Op::reduce, reduce},
    {Op::select_reduce, along_axis},
    {Op::scan, along_axis},
    {Op::sort, along_axis},
    {Op::topk, along_axis},
    {Op::reshape, reshape},
    {Op::permute, permute},
    {Op::slice, along_axis},
    {Op::expand, expand},
    {Op::bitcast, all_each},
    {Op::concat, along_axis},
    {Op::slice_scatter, along_axis},
    {Op::pad, pad},
    {Op::gather, along_axis},
    {Op::scatter, along_axis},
    {Op::index_select, index_select},
    {Op::index, index},
    {Op::index_put, index_put},
    {Op::assert_true, assert_true},
};

}  // namespace

ValueId Operands::aligned(ValueId v, int rank) {
  if (is_shared(v)) return shared(v);
  const Dims& value_shape = type(v).shape;
  if (type(v).rank() == rank) return values_of(v);
  Dims sizes(static_cast<std::size_t>(rank + 1), Dim(1));
  sizes[0] = texts();
  std::ranges::copy(value_shape, sizes.end() - static_cast<std::ptrdiff_t>(value_shape.size()));
  return builder().reshape(values_of(v), sizes);
}

Rule rule_of(Op op) {
  const auto* found = std::ranges::find(kSlotRules, op, &OpRule::op);
  return found == std::end(kSlotRules) ? nullptr : found->rule;
}

}  // namespace tern
