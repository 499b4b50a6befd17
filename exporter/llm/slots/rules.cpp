#include "exporter/llm/slots/rules.h"

#include <algorithm>
#include <utility>

#include "schema/kinds.h"

namespace tern {
namespace {

void put_in_front(Node& made, AttrKey key, Dim d) {
  Dims sizes = made.dims(key);
  sizes.insert(sizes.begin(), d);
  made.set(key, sizes);
}

std::int64_t behind_texts(std::int64_t axis, int rank) {
  return (axis < 0 ? axis + rank : axis) + 1;
}

void move_axis(Operands& o, const Node& source, Node& made) {
  made.set(AttrKey::axis, Dims{behind_texts(source.integer(AttrKey::axis), o.rank(source.inputs[0]))});
}

bool all_each(Operands& o, const Node& source, Node& made) {
  for (const ValueId v : source.inputs) made.inputs.push_back(v == kNoValue ? v : o.each(v));
  return true;
}

// Moves an axis attribute behind the texts' axis; all operands have the axes of x.
bool along_axis(Operands& o, const Node& source, Node& made) {
  if (o.rank(source.inputs[0]) == 0) return false;
  for (const ValueId v : source.inputs) {
    if (v != kNoValue && o.rank(v) != o.rank(source.inputs[0])) return false;
  }
  move_axis(o, source, made);
  return all_each(o, source, made);
}

bool pointwise(Operands& o, const Node& source, Node& made) {
  const int rank = o.rank(source.outputs[0]);
  for (const ValueId v : source.inputs) made.inputs.push_back(o.aligned(v, rank));
  if (made.has(AttrKey::sizes)) put_in_front(made, AttrKey::sizes, o.texts());
  for (Instruction& i : made.expr.code) i.integer += i.op == Scalar::index ? 1 : 0;  // an axis of the result
  return true;
}

// A weight common to all texts is multiplied once, by the rows of all texts.
bool matmul(Operands& o, const Node& source, Node& made) {
  const ValueId a = source.inputs[0], b = source.inputs[1];
  if (o.is_shared(a) && o.is_shared(b)) return false;  // the bias is each text's
  const int rank = o.rank(source.outputs[0]);
  for (const ValueId v : source.inputs) made.inputs.push_back(v == kNoValue ? v : o.aligned(v, rank));
  return true;
}

bool attention(Operands& o, const Node& source, Node& made) {
  for (std::size_t i = 0; i < 3; ++i) made.inputs.push_back(o.each(source.inputs[i]));
  if (source.inputs.size() > 3 && source.inputs[3] != kNoValue)
    made.inputs.push_back(o.aligned(source.inputs[3], o.rank(source.inputs[0])));
  return true;
}

bool reshape(Operands& o, const Node& source, Node& made) {
  put_in_front(made, AttrKey::sizes, o.texts());
  return all_each(o, source, made);
}

bool expand(Operands& o, const Node& source, Node& made) {
  put_in_front(made, AttrKey::sizes, o.texts());
  made.inputs = {o.aligned(source.inputs[0], o.rank(source.outputs[0]))};
  return true;
}

bool permute(Operands& o, const Node& source, Node& made) {
  Dims axes = {0};
  for (const Dim axis : source.dims(AttrKey::axes))
    axes.push_back(behind_texts(axis.value(), o.rank(source.inputs[0])));
  made.set(AttrKey::axes, axes);
  return all_each(o, source, made);
}

bool reduce(Operands& o, const Node& source, Node& made) {
  const int rank = o.rank(source.inputs[0]);
  if (rank == 0) return false;
  Dims axes;
  for (const Dim axis : source.dims(AttrKey::axes)) axes.push_back(behind_texts(axis.value(), rank));
  if (axes.empty()) {  // all, but for the texts
    const auto kind = static_cast<ReduceKind>(source.integer(AttrKey::kind));
    if (rank > 1 && (kind == ReduceKind::argmax || kind == ReduceKind::argmin)) return false;  // accept a single axis
    for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis + 1);
  }
  made.set(AttrKey::axes, axes);
  return all_each(o, source, made);
}

// Normalizes the last axes, with weights common to all texts.
bool norm(Operands& o, const Node& source, Node& made) {
  made.inputs = {o.each(source.inputs[0])};
  for (std::size_t i = 1; i < source.inputs.size(); ++i) {
    const ValueId v = source.inputs[i];
    if (v != kNoValue && !o.is_shared(v)) return false;
    made.inputs.push_back(v == kNoValue ? v : o.shared(v));
  }
  return true;
}

bool pad(Operands& o, const Node& source, Node& made) {
  put_in_front(made, AttrKey::before, 0);
  put_in_front(made, AttrKey::after, 0);
  return all_each(o, source, made);
}

// Selects rows of a common table, such as embeddings; or the same rows from each text's table.
bool index_select(Operands& o, const Node& source, Node& made) {
  const ValueId x = source.inputs[0], index = source.inputs[1];
  if (o.is_shared(x)) {
    if (behind_texts(source.integer(AttrKey::axis), o.rank(x)) != 1) return false;
    made.inputs = {o.shared(x), o.each(index)};
    return true;
  }
  if (!o.is_shared(index)) return false;
  move_axis(o, source, made);
  made.inputs = {o.each(x), o.shared(index)};
  return true;
}

/// The number of each text, in the sizes of the index `like` of all texts.
ValueId text_numbers(Operands& o, ValueId like) {
  Builder& b = o.builder();
  Dims ones(b.shape(like).size(), Dim(1));
  ones[0] = o.texts();
  return b.expand(b.reshape(b.iota(o.texts(), DType::i64), ones), b.shape(like));
}

bool index(Operands& o, const Node& source, Node& made) {
  const ValueId x = source.inputs[0];
  std::vector<ValueId> indices;
  for (std::size_t i = 1; i < source.inputs.size(); ++i) indices.push_back(o.each(source.inputs[i]));
  made.inputs = {o.is_shared(x) ? o.shared(x) : o.each(x)};
  if (!o.is_shared(x)) made.inputs.push_back(text_numbers(o, indices[0]));
  made.inputs.insert(made.inputs.end(), indices.begin(), indices.end());
  return true;
}

bool index_put(Operands& o, const Node& source, Node& made) {
  std::vector<ValueId> indices;
  for (std::size_t i = 2; i < source.inputs.size(); ++i) indices.push_back(o.each(source.inputs[i]));
  const int kept = o.rank(source.inputs[0]) - static_cast<int>(indices.size());
  made.inputs = {o.each(source.inputs[0]), o.aligned(source.inputs[1], o.rank(source.inputs[2]) + kept),
                 text_numbers(o, indices[0])};
  made.inputs.insert(made.inputs.end(), indices.begin(), indices.end());
  return true;
}

bool assert_true(Operands& o, const Node& source, Node& made) {
  made.inputs = {o.builder().reduce(o.each(source.inputs[0]), "all", {0}, false, DType::boolean)};
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
  const Dims& own = type(v).shape;
  if (type(v).rank() == rank) return each(v);
  Dims sizes(static_cast<std::size_t>(rank + 1), Dim(1));
  sizes[0] = texts();
  std::ranges::copy(own, sizes.end() - static_cast<std::ptrdiff_t>(own.size()));
  return builder().reshape(each(v), sizes);
}

Rule rule_of(Op op) {
  const auto* found = std::ranges::find(kSlotRules, op, &OpRule::op);
  return found == std::end(kSlotRules) ? nullptr : found->rule;
}

}  // namespace tern
