// Communication between processes: torch.distributed's functional collectives. All start, as PyTorch's do;
// exporter/passes/simplify/overlap.cpp finds those that nothing runs beside.
#include "exporter/lower/collective.h"

#include <tern/collective.h>

#include "exporter/lower/lower.h"

namespace tern {

ValueId add_collective(Builder& b, const Call& c, ValueId x, CollectiveKind kind, std::int64_t groups,
                       std::string_view reduce, std::int64_t root, const Dims& sizes, const Dims& counts) {
  if (groups == 1) return x;
  if (reduce == "premul_sum") c.unsupported("premul_sum is not supported: a program does not record its factor");
  std::vector<Attr> attrs = {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))),
                             attr(AttrKey::groups, Dim(groups)),
                             attr_text(AttrKey::text, reduce),
                             attr_text(AttrKey::name, c.text_or("group_name", "")),
                             attr(AttrKey::k, Dim(root)),
                             attr(AttrKey::mode, Dim(1))};
  if (!sizes.empty()) {
    attrs.push_back(attr(AttrKey::sizes, sizes));
    attrs.push_back(attr(AttrKey::counts, counts));
  }
  return b.add(Op::collective, {x}, std::move(attrs));
}

namespace {

using Values = std::vector<ValueId>;

Values all_reduce(Builder& b, const Call& c) {
  return {add_collective(b, c, c.tensor("input"), CollectiveKind::all_reduce, 0, c.text("reduce_op"))};
}
Values all_gather(Builder& b, const Call& c) {
  return {add_collective(b, c, c.tensor("input"), CollectiveKind::all_gather, c.integer("group_size"), "")};
}
Values reduce_scatter(Builder& b, const Call& c) {
  return {add_collective(b, c, c.tensor("input"), CollectiveKind::reduce_scatter, c.integer("group_size"),
                         c.text("reduce_op"))};
}
Values broadcast(Builder& b, const Call& c) {
  return {add_collective(b, c, c.tensor("input"), CollectiveKind::broadcast, 0, "", c.integer("src"))};
}
Values all_to_all(Builder& b, const Call& c) {
  const Dims input_splits = c.dims("input_split_sizes"), output_splits = c.dims("output_split_sizes");
  const std::int64_t ranks = static_cast<std::int64_t>(input_splits.size());
  return {
      add_collective(b, c, c.tensor("input"), CollectiveKind::all_to_all, ranks, "", 0, input_splits, output_splits)};
}

/// Sends the tensors of a list in order over the same channel.
template <class F>
Values map_inputs(const Call& c, F f) {
  Values results;
  for (const ValueId x : c.tensors("inputs")) results.push_back(f(x));
  return results;
}
Values all_reduce_list(Builder& b, const Call& c) {
  return map_inputs(
      c, [&](ValueId x) { return add_collective(b, c, x, CollectiveKind::all_reduce, 0, c.text("reduce_op")); });
}
Values all_gather_list(Builder& b, const Call& c) {
  return map_inputs(
      c, [&](ValueId x) { return add_collective(b, c, x, CollectiveKind::all_gather, c.integer("group_size"), ""); });
}
Values reduce_scatter_list(Builder& b, const Call& c) {
  return map_inputs(c, [&](ValueId x) {
    return add_collective(b, c, x, CollectiveKind::reduce_scatter, c.integer("group_size"), c.text("reduce_op"));
  });
}

Values exchange(Builder& b, const Call& c, Values tensors, Dims receives, Dims peers, Dims tags) {
  std::vector<Attr> attrs = {attr(AttrKey::counts, std::move(receives)), attr(AttrKey::sizes, std::move(peers)),
                             attr(AttrKey::mapped, std::move(tags)),
                             attr_text(AttrKey::name, c.text_or("group_name", ""))};
  return b.add_all(Op::exchange, std::move(tensors), std::move(attrs));
}
Values send(Builder& b, const Call& c) {
  return exchange(b, c, {c.tensor("tensor")}, {Dim(0)}, {Dim(c.integer("dst"))}, {Dim(c.integer("tag"))});
}
Values receive(Builder& b, const Call& c) {
  return exchange(b, c, {c.tensor("tensor")}, {Dim(1)}, {Dim(c.integer("src"))}, {Dim(c.integer("tag"))});
}
Values batch(Builder& b, const Call& c) {
  Dims receives;
  const std::string kinds = c.text("op_list");
  for (std::size_t index = 0; index <= kinds.size() && !kinds.empty();) {
    const std::string kind = kinds.substr(index, kinds.find(',', index) - index);
    if (kind != "isend" && kind != "irecv")
      c.unsupported("op_list contains '" + kind + "'; only isend and irecv are allowed");
    receives.emplace_back(kind == "irecv" ? 1 : 0);
    index += kind.size() + 1;
  }
  return exchange(b, c, c.tensors("tensors"), std::move(receives), c.dims("peer_list"), c.dims("tag_list"));
}

Values wait(Builder& b, const Call& c) {
  return {b.add(Op::wait, {c.tensor("tensor")}, {})};
}
Values wait_list(Builder& b, const Call& c) {
  Values results;
  for (const ValueId x : c.tensors("tensors")) results.push_back(b.add(Op::wait, {x}, {}));
  return results;
}

/// Moves DTensor's shard from one axis to another. All ranks have shards of equal sizes.
Values shard_dim_all_to_all(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const auto axis_of = [&](std::int64_t axis) { return axis < 0 ? axis + b.rank(x) : axis; };
  const std::int64_t gathered = axis_of(c.integer("gather_dim")), divided = axis_of(c.integer("shard_dim"));
  if (gathered == divided) c.unsupported("gather_dim and shard_dim are the same axis");
  Dims shape = b.type(x).shape;
  const Dim full_size = c.declared.at(0).shape.at(static_cast<std::size_t>(gathered));
  Dim& local_size = shape.at(static_cast<std::size_t>(gathered));
  Dim& rows = shape.at(static_cast<std::size_t>(divided));
  if (!full_size.is_const() || !local_size.is_const() || !rows.is_const() || local_size.value() == 0)
    c.unsupported("the number of ranks follows from sizes, which must be constants: export it for fixed sizes");
  const std::int64_t ranks = full_size.value() / local_size.value();
  if (ranks == 0 || rows.value() % ranks != 0)
    c.unsupported("the number of ranks does not divide the size of axis shard_dim");
  rows = Dim(rows.value() / ranks);
  local_size = full_size;
  const Dims counts(static_cast<std::size_t>(ranks), rows);
  const ValueId exchanged =
      add_collective(b, c, b.move_axis(x, divided, 0), CollectiveKind::all_to_all, ranks, "", 0, counts, counts);
  Dims part_sizes = b.type(exchanged).shape;
  part_sizes[0] = rows;
  part_sizes.insert(part_sizes.begin(), Dim(ranks));
  const ValueId merged = b.move_axis(b.reshape(exchanged, part_sizes), 1, divided + 1);
  return {b.reshape(b.move_axis(merged, 0, gathered), shape)};
}
Values same_collective(Builder&, const Call& c) {
  return {c.tensor("input")};
}

constexpr Lowering kCollectiveLowerings[] = {
    {"_c10d_functional._wrap_tensor_autograd.default", same_collective},
    {"_c10d_functional.all_gather_into_tensor.default", all_gather},
    {"_c10d_functional.all_gather_into_tensor_coalesced.default", all_gather_list},
    {"_c10d_functional.all_gather_into_tensor_out.default", all_gather},
    {"_c10d_functional.all_reduce.default", all_reduce},
    {"_c10d_functional.all_reduce_.default", all_reduce},
    {"_c10d_functional.all_reduce_coalesced.default", all_reduce_list},
    {"_c10d_functional.all_reduce_coalesced_.default", all_reduce_list},
    {"_c10d_functional.all_to_all_single.default", all_to_all},
    {"_c10d_functional.batch_p2p_ops.default", batch},
    {"_c10d_functional.broadcast.default", broadcast},
    {"_c10d_functional.broadcast_.default", broadcast},
    {"_c10d_functional.irecv.default", receive},
    {"_c10d_functional.isend.default", send},
    {"_c10d_functional.reduce_scatter_tensor.default", reduce_scatter},
    {"_c10d_functional.reduce_scatter_tensor_coalesced.default", reduce_scatter_list},
    {"_c10d_functional.reduce_scatter_tensor_out.default", reduce_scatter},
    {"_c10d_functional.wait_tensor.default", wait},
    {"_c10d_functional.wait_tensors.default", wait_list},
    {"_c10d_functional_autograd.all_gather_into_tensor.default", all_gather},
    {"_c10d_functional_autograd.all_to_all_single.default", all_to_all},
    {"_c10d_functional_autograd.reduce_scatter_tensor.default", reduce_scatter},
    {"_dtensor.shard_dim_alltoall.default", shard_dim_all_to_all},
};

}  // namespace

std::span<const Lowering> collective_lowerings() {
  return kCollectiveLowerings;
}

}  // namespace tern
