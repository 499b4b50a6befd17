// as_strided views the storage of its operand, regardless of the operand's own extent. Becomes a view of the storage's
// original tensor, in PyTorch's layout.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <numeric>

#include "exporter/import/calls.h"
#include "exporter/import/names.h"
#include "schema/linear.h"

namespace tern::importing {
namespace {

[[noreturn]] void refuse_layout(const std::string& reason) {
  fail(ErrorCode::unsupported,
       "as_strided reads the memory of its operand, but " + reason + "; index the tensor instead of its memory");
}

/// Orders the axes from outermost to innermost in memory for `strides` without gaps. False for strides with gaps, or if
/// undecidable.
bool memory_order(ExprPool& pool, const Dims& sizes, const Dims& strides, std::vector<std::int64_t>* order) {
  std::vector<std::int64_t> remaining_sizes(sizes.size());
  std::iota(remaining_sizes.begin(), remaining_sizes.end(), 0);
  Dim expected = 1;
  while (!remaining_sizes.empty()) {
    const auto next = std::find_if(remaining_sizes.rbegin(), remaining_sizes.rend(), [&](std::int64_t a) {
      const auto i = static_cast<std::size_t>(a);
      return sizes[i].is(1) || pool.proved_equal(strides[i], expected);
    });
    if (next == remaining_sizes.rend()) return false;
    expected = pool.mul(expected, sizes[static_cast<std::size_t>(*next)]);
    order->insert(order->begin(), *next);
    remaining_sizes.erase(std::next(next).base());
  }
  return true;
}

}  // namespace

bool Calls::strided_call(const pt2::Node& node, const Call& call) {
  if (!contains(strided_names(), call.target)) return false;
  const bool scatter = call.target == "aten.as_strided_scatter.default";
  const bool copy = call.target == "aten.as_strided_copy.default";
  const pt2::Argument& viewed = *node.find_input("self");
  const Binding self = scope_.binding_of(viewed);
  if (self.kind != BindingKind::tensor) fail(ErrorCode::bad_file, "the operand of as_strided is not a tensor");
  for (const std::string& op : aliases_.view_operators(self.ref)) {
    if (op == "aten._conj.default" || op == "aten.conj.default" || op == "aten._neg_view.default") {
      refuse_layout("a view conjugates or negates that memory");
    }
  }
  Builder& b = builder_;
  const RefId owner = aliases_.base(self.ref);
  const ValueId base = aliases_.current_value(owner);
  const DType dtype = b.dtype(aliases_.current_value(self.ref));
  const bool empty = b.numel(base).is(0);

  // An unnamed base is a storage itself.
  std::vector<std::int64_t> order;
  Dim begin = 0;
  if (const pt2::TensorMeta* meta = nullptr; scope_.memory(owner, &meta) && !empty) {
    const auto rank = static_cast<std::size_t>(b.rank(base));
    Dims strides;
    Dim stride;
    const auto is_static = [&](const pt2::SymInt& s) {
      if (s.is_literal()) stride = s.value;
      return s.is_literal() || symbols().try_dim(s.expr, &stride);
    };
    if (meta == nullptr || meta->strides.size() != rank) refuse_layout("the memory's layout is not recorded");
    for (const pt2::SymInt& s : meta->strides) {
      if (!is_static(s)) refuse_layout("the memory's layout depends on data");
      strides.push_back(stride);
    }
    if (!memory_order(pool(), b.shape(base), strides, &order)) {
      refuse_layout("the tensor that the memory belongs to does not fill it without gaps");
    }
    if (!is_static(meta->storage_offset)) refuse_layout("the offset of that memory depends on data");
    begin = stride;
  }

  // Counts in elements of the operand's dtype; a bit cast may have changed the dtype.
  const std::size_t first = b.function().nodes.size();
  ValueId memory = base;
  if (!std::is_sorted(order.begin(), order.end())) memory = b.permute(memory, order);
  if (const DType base_dtype = b.dtype(base); base_dtype != dtype) {
    memory = b.add(Op::bitcast, {b.flatten(memory)}, {attr_dtype(dtype)});
    begin = pool().floordiv(pool().mul(begin, element_size(base_dtype)), element_size(dtype));
  }
  Dim offset;
  if (call.has_argument("storage_offset")) {
    offset = call.dim("storage_offset");
  } else {
    const pt2::TensorMeta* meta = scope_.meta_of(viewed.name);
    if (meta == nullptr) refuse_layout("the operand's offset is not recorded");
    if (meta->storage_offset.is_literal()) {
      offset = meta->storage_offset.value;
    } else if (!symbols().try_dim(meta->storage_offset.expr, &offset)) {
      refuse_layout("the operand's offset depends on data");
    }
  }
  offset = pool().sub(offset, begin);
  const Dims sizes = call.dims("size"), strides = call.dims("stride");
  Dim last = offset;
  bool none = false;
  for (std::size_t i = 0; i < sizes.size() && i < strides.size(); ++i) {
    none = none || sizes[i].is(0);
    if (sizes[i].is_const() && strides[i].is_const() && sizes[i].value() > 0 &&
        sizes[i].value() < (std::int64_t{1} << 31) && strides[i].value() < (std::int64_t{1} << 31)) {
      last = pool().add(last, (sizes[i].value() - 1) * strides[i].value());
    }
  }
  if (!none && (pool().bounds(offset).max < 0 || difference(pool(), b.numel(memory), last).max <= 0)) {
    refuse_layout("the program has only a part of that memory");
  }

  const pt2::Argument& output = node.outputs.at(0);
  if (!scatter) {
    const ValueId result = b.as_strided(memory, sizes, strides, offset);
    results_.check(node, output.name, result);
    if (copy) {
      scope_.bind(output.name, Binding::tensor(aliases_.add_base(result)));
    } else {
      ViewStep step = view_step(b, call.target, base, result, first, {});
      scope_.bind(output.name, Binding::tensor(aliases_.add_view(owner, result, std::move(step))));
    }
    return true;
  }
  // The functional twin: a copy of the whole memory is written, and seen as the operand saw the memory.
  const ValueId src = b.expand(b.cast(call.tensor("src"), dtype), sizes);
  const ValueId view = b.as_strided(memory, sizes, strides, offset);
  const ViewStep step = view_step(b, call.target, base, view, first, {});
  const ValueId result = aliases_.replay(self.ref, step.inverse(base, src));
  results_.check(node, output.name, result);
  scope_.bind(output.name, Binding::tensor(aliases_.add_base(result)));
  return true;
}

}  // namespace tern::importing
