#include "exporter/training/data_parallel.h"

#include <tern/collective.h>

#include <algorithm>
#include <map>
#include <optional>

#include "exporter/rewrite.h"
#include "exporter/training/heads.h"
#include "schema/def_use.h"

namespace tern {
namespace {

constexpr std::uint64_t kFirstBucket = std::uint64_t{1} << 20;  // small: the ranks begin to communicate early

ValueId start(Builder& b, ValueId v, CollectiveKind kind) {
  return b.add(Op::collective, {v},
               {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))), attr(AttrKey::groups, Dim(0)),
                attr_text(AttrKey::text, kind == CollectiveKind::all_reduce ? "avg" : ""),
                attr_text(AttrKey::name, "0"), attr(AttrKey::k, Dim(0)), attr(AttrKey::mode, Dim(1))});
}

ValueId end(Builder& b, ValueId started) {
  return b.add(Op::wait, {started});
}

std::uint64_t bytes_of(Builder& b, ValueId v) {
  std::uint64_t size = 0;
  return byte_size(b.type(v), &size) ? size : 0;
}

/// Values of one type, sent as one message.
struct Bucket {
  DType dtype = DType::invalid;
  std::vector<ValueId> values;
  std::uint64_t bytes = 0, max_bytes = kFirstBucket;
  ValueId started = kNoValue;
};

std::vector<Bucket> buckets_of(Builder& b, std::vector<ValueId> values, std::uint64_t max_bytes) {
  const DefUse def_use(b.function());
  std::ranges::stable_sort(values, {}, [&](ValueId v) { return def_use.producer(v); });
  std::vector<Bucket> buckets;
  std::map<DType, std::size_t> open;
  for (ValueId v : values) {
    const DType t = b.dtype(v);
    const std::uint64_t size = bytes_of(b, v);
    auto it = open.find(t);
    const bool bucket_has_room = it != open.end() && buckets[it->second].bytes + size <= buckets[it->second].max_bytes;
    if (!bucket_has_room) {
      const std::uint64_t limit = it == open.end() ? std::min(kFirstBucket, max_bytes) : max_bytes;
      open[t] = buckets.size();
      buckets.push_back({t, {}, 0, limit});
      it = open.find(t);
    }
    buckets[it->second].values.push_back(v);
    buckets[it->second].bytes += size;
  }
  return buckets;
}

/// Value of each tensor after the collective: slices of the bucket's tensor. A bucket of one value is the value itself.
std::map<ValueId, ValueId> communicate(Builder& b, std::vector<ValueId> values, CollectiveKind kind,
                                       std::uint64_t max_bytes) {
  std::vector<Bucket> buckets = buckets_of(b, std::move(values), max_bytes);
  for (Bucket& bucket : buckets) {
    const std::size_t first = b.function().nodes.size();
    ValueId sent = bucket.values[0];
    if (bucket.values.size() > 1) {
      std::vector<ValueId> flat;
      for (ValueId v : bucket.values) flat.push_back(b.flatten(v));
      sent = b.concat(flat, 0);
    }
    bucket.started = start(b, sent, kind);
    move_up(b.function(), first);
  }
  std::map<ValueId, ValueId> reduced_values;
  for (const Bucket& bucket : buckets) {
    const ValueId bucket_result = end(b, bucket.started);
    if (bucket.values.size() == 1) {
      reduced_values[bucket.values[0]] = bucket_result;
      continue;
    }
    Dim offset = 0;
    for (ValueId v : bucket.values) {
      const Dim count = b.numel(v);
      reduced_values[v] = b.reshape(b.slice(bucket_result, 0, offset, count), b.shape(v));
      offset = b.pool().add(offset, count);
    }
  }
  return reduced_values;
}

/// Mean of the ranks' counts. The collective starts with the function: the forward pass hides its latency.
ValueId mean_count(Builder& b, ValueId count, std::size_t first) {
  const ValueId started = start(b, b.cast(count, DType::f64), CollectiveKind::all_reduce);
  move_up(b.function(), first);
  return end(b, started);
}

/// Sample count of the first input with a symbolic size.
std::optional<Dim> samples(Builder& b) {
  for (const FunctionInput& input : b.function().inputs) {
    if (input.kind != FunctionInput::Kind::user || input.value == kNoValue) continue;
    const Dims& shape = b.shape(input.value);
    if (!shape.empty() && !shape[0].is_const()) return shape[0];
  }
  return {};
}

RankLoss own_rank_loss(Builder& b, const std::string& result) {
  const ValueId loss = require_loss_result(b, result);
  const std::optional<Dim> n = samples(b);
  if (!n) return {loss, kNoValue, loss};
  const std::size_t first = b.function().nodes.size();
  const ValueId count = b.cast(b.from_dim(*n), DType::f64);
  const ValueId weight = b.expr("n / m", {{"n", count}, {"m", mean_count(b, count, first)}}, DType::f64);
  return {b.expr("w > 0 ? w * l : 0", {{"w", weight}, {"l", loss}}, b.dtype(loss)), weight, loss};
}

}  // namespace

RankLoss add_rank_loss(Builder& b, const LossRecord* loss, const TrainingOptions& options) {
  if (loss == nullptr) return own_rank_loss(b, options.loss_result);
  const Head head = add_head(b, *loss, options, Reduction::sum);
  const std::size_t first = b.function().nodes.size();
  ValueId count = kNoValue;
  if (loss->classes) {
    const ValueId counted = b.expr("t >= 0", {{"t", head.target}}, DType::i64, DType::boolean);
    count = b.reduce(b.cast(counted, DType::f64), "sum", b.all_axes(head.target), false, DType::f64);
  } else {
    count = b.from_dim(b.numel(head.target));
  }
  const ValueId mean = mean_count(b, count, first);
  const ValueId rank_loss = b.expr("s / n", {{"s", head.loss}, {"n", mean}}, b.dtype(head.loss));
  return {rank_loss, kNoValue, rank_loss};
}

void weigh(Builder& b, ValueId weight, std::vector<ValueId>& gradients) {
  if (weight == kNoValue) return;
  for (ValueId& g : gradients) g = b.expr("w > 0 ? w * g : 0", {{"w", weight}, {"g", g}}, b.dtype(g));
}

ValueId mean_over_ranks(Builder& b, ValueId v) {
  return communicate(b, {v}, CollectiveKind::all_reduce, kFirstBucket).at(v);
}

std::vector<ValueId> mean_gradients(Builder& b, const std::vector<ValueId>& gradients, std::uint64_t bucket) {
  std::map<ValueId, ValueId> mean_of = communicate(b, gradients, CollectiveKind::all_reduce, bucket);
  std::vector<ValueId> list;
  for (ValueId g : gradients) list.push_back(mean_of.at(g));
  return list;
}

void share_buffers(Builder& b, std::uint64_t bucket) {
  std::vector<ValueId> values;
  for (const WriteBack& w : b.function().writebacks) {
    if (w.target == WriteBack::Target::state && std::ranges::find(values, w.value) == values.end())
      values.push_back(w.value);
  }
  if (values.empty()) return;
  const std::map<ValueId, ValueId> shared = communicate(b, values, CollectiveKind::broadcast, bucket);
  for (WriteBack& w : b.function().writebacks) {
    if (w.target == WriteBack::Target::state) w.value = shared.at(w.value);
  }
}

}  // namespace tern
