// nms: all overlaps at once, then a pass over the boxes by falling score.
#include "kernels/portable/axes.h"
#include "kernels/portable/counting.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/sort_groups.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kWordBits = 64;

/// Offsets in the scratch.
struct NmsLayout {
  std::int64_t count, words;
  std::uint64_t total, selected, order, overlaps, dropped;
};

NmsLayout layout_of(Launches& list, std::int64_t count) {
  NmsLayout l{};
  l.count = count;
  l.words = (count + kWordBits - 1) / kWordBits;
  const auto numbers = [&](std::int64_t n) {
    return list.scratch(static_cast<std::uint64_t>(n) * sizeof(std::int64_t));
  };
  l.total = numbers(1);
  l.selected = numbers(count);
  l.order = numbers(count);
  l.overlaps = numbers(count * l.words);
  l.dropped = numbers(l.words);
  return l;
}

/// Sorts by groups on devices with groups.
bool sort_scores(Launches& list, const TensorView& scores, const NmsLayout& l) {
  SortedLines sorted{1, scores.dtype, {}, {}, true, l.count};
  sorted.along.add(l.count, scores.stride(0));
  return sort_by_groups(list, sorted, [&](Launch& k) {
    k.scratch("order", l.order, DType::i64, true);
    k.source.define("FOUND(line, k, v, place)", "order[k] = place;");
  });
}

void nms(const KernelCall& c, Launches& list) {
  const TensorView &boxes = c.in[0], &scores = c.in[1];
  const NmsLayout l = layout_of(list, boxes.size(0));
  const DType t = boxes.dtype == DType::f64 ? DType::f64 : DType::f32;
  const DType wide = wide_type(t, list.target().has_double);
  if (number_type(scores.dtype) != t || !sort_scores(list, scores, l)) {
    Launch order("nms_order");
    order.type("T", t);
    order.input("scores", 1, scores.dtype);
    order.load("LOAD_SCORE", scores.dtype, t);
    order.source.view("scores", scores);
    order.scratch("order", l.order, DType::i64, true);
    order.parameter("count", l.count);
    list.add(std::move(order), l.count);
  }
  Launch overlaps("nms_overlaps");
  overlaps.type("T", t);
  overlaps.input("boxes", 0, boxes.dtype);
  overlaps.load("LOAD_BOX", boxes.dtype, t);
  overlaps.scratch("order", l.order, DType::i64, false);
  overlaps.scratch("overlaps", l.overlaps, DType::u64, true);
  overlaps.parameter("count", l.count);
  overlaps.parameter("words", l.words);
  overlaps.parameter("box_row", boxes.stride(0));
  overlaps.parameter("box_column", boxes.stride(1));
  overlaps.source.parameter("threshold", wide, c.node->number(AttrKey::value));
  list.add(std::move(overlaps), l.count * l.words);
  Launch keep("nms_keep");
  keep.scratch("order", l.order, DType::i64, false);
  keep.scratch("overlaps", l.overlaps, DType::u64, false);
  keep.scratch("dropped", l.dropped, DType::u64, true);
  keep.scratch("kept", l.selected, DType::i64, true);
  keep.scratch("total", l.total, DType::i64, true);
  keep.parameter("count", l.count);
  keep.parameter("words", l.words);
  list.add(std::move(keep), 1);
}

void run_nms(KernelCall& call) {
  run_launches(call);
  const std::int64_t count = read_total(call);
  allocate_result(call, count, {&count, 1});
  Launches list(call);
  const NmsLayout l = layout_of(list, call.in[0].size(0));
  call.launcher->copy(call.out[0].data, call.scratch.data() + l.selected,
                      static_cast<std::uint64_t>(count) * sizeof(std::int64_t));
}

}  // namespace

void define_nms(Definitions& d) {
  Kernel k = kernel<nms>();
  k.run = run_nms;
  d.set(Op::nms, k);
}

}  // namespace tern::portable
