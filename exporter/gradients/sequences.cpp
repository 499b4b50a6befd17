// Gradients along an axis: scans, sorting, segments, recurrence.
#include "exporter/gradients/rules.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Sends each gradient to the element's origin; origins are distinct.
void to_places(GradientCall& c) {
  Builder& b = c.b;
  if (c.grad(0) == kNoValue) return;
  c.add_gradient(0, b.add(Op::scatter, {b.full(b.shape(c.operand(0)), 0, b.dtype(c.grad(0))), c.result(1), c.grad(0)},
                          {attr(AttrKey::axis, static_cast<std::int64_t>(c.axis())),
                           attr(AttrKey::kind, Dim(static_cast<int>(ScatterKind::set)))}));
}

constexpr GradientEntry kSequencesRules[] = {
    {Op::scan, differentiate_scan}, {Op::sort, to_places},
    {Op::topk, to_places},          {Op::segment_reduce, differentiate_segment_reduce},
    {Op::rnn, differentiate_rnn},
};

}  // namespace

std::span<const GradientEntry> gradients_of_sequences() {
  return kSequencesRules;
}

}  // namespace tern
