// Programs of ops along axes.
#include <algorithm>

#include "fuzz/ops/table.h"

namespace tern::fuzz {
namespace {

void reduce(Make& m) {
  using enum DType;
  const Sizes s = m.any_shape();
  const DType dtype = m.any();
  Sizes axes;
  for (std::int64_t a = 0; a < static_cast<std::int64_t>(s.size()); ++a) {
    if (m.chance(50)) axes.push_back(a);
  }
  m.operand(dtype, s);
  m.set(Key::kind, m.in(0, 10));
  m.set(Key::axes, axes);
  m.set(Key::keepdims, m.in(0, 1));
  m.set(Key::dtype, m.pick({dtype, dtype, i64, f32, boolean, c64}));
  if (m.chance(50)) m.numbers(Key::correction, {m.pick({0.0, 1.0, 5.0, m.number()})});
}
void select_reduce(Make& m) {
  const Sizes s = m.shape(m.in(1, 4));
  m.operand(m.real(), s);
  m.set(Key::kind, m.in(0, 5));
  m.set(Key::axis, m.axis(s));
  m.set(Key::k, m.size(m.in(1, 3)));
  m.set(Key::keepdims, m.in(0, 1));
}
void scan(Make& m) {
  const Sizes s = m.shape(m.in(1, 4));
  const DType dtype = m.chance(80) ? m.real() : m.matrix();
  m.operand(dtype, s);
  m.set(Key::kind, m.in(0, 4));
  m.set(Key::axis, m.axis(s));
  m.set(Key::dtype, dtype);
}
void sort(Make& m) {
  const Sizes s = m.shape(m.in(1, 4));
  m.operand(m.real(), s);
  m.set(Key::axis, m.axis(s));
  m.set(Key::descending, m.in(0, 1));
  m.set(Key::stable, m.in(0, 1));
}
void topk(Make& m) {
  const Sizes s = m.shape(m.in(1, 4));
  const std::int64_t axis = m.axis(s);
  m.operand(m.real(), s);
  m.set(Key::axis, axis);
  m.set(Key::k, m.size(m.in(0, s[static_cast<std::size_t>(axis)])));
  m.set(Key::largest, m.in(0, 1));
}
void softmax(Make& m) {
  const Sizes s = m.shape(m.in(1, 4));
  m.operand(m.floating(), s);
  m.set(Key::axis, m.axis(s));
  m.set(Key::log, m.in(0, 1));
  m.set(Key::dtype, m.pick({DType::f32, DType::f64, DType::f16, DType::bf16}));
}
void layer_norm(Make& m) {
  const Sizes s = m.shape(m.in(1, 4));
  const std::int64_t k = m.in(1, static_cast<std::int64_t>(s.size()));
  const DType dtype = m.floating();
  const Sizes last(s.end() - k, s.end());
  m.operand(dtype, s);
  m.optional(dtype, last);
  if (m.node.op == Op::layer_norm) m.optional(dtype, last);
  m.set(Key::k, k);
  m.numbers(Key::epsilon, {m.pick({1e-5, 1e-5, 0.0, -1.0})});
  if (m.chance(50)) m.set(Key::dtype, m.pick({dtype, DType::f32}));
}
void group_norm(Make& m) {
  const std::int64_t groups = m.in(1, 3), channels = groups * m.extent(0, 3);
  const DType dtype = m.floating();
  Sizes s = m.shape(m.in(0, 2));
  if (m.tame()) s.push_back(m.in(2, 5));  // norms of a single element leave only rounding
  s.insert(s.begin(), {m.in(0, 2), channels});
  m.operand(dtype, s);
  m.optional(dtype, {channels});
  m.optional(dtype, {channels});
  m.set(Key::groups, groups);
  m.numbers(Key::epsilon, {1e-5});
}
void batch_norm(Make& m) {
  const std::int64_t channels = m.extent(0, 5);
  const DType dtype = m.floating();
  Sizes s = m.shape(m.in(0, 3));
  s.insert(s.begin(), {m.in(0, 3), channels});
  m.operand(dtype, s);
  m.operand(dtype, {channels});
  m.operand(dtype, {channels});
  m.optional(dtype, {channels});
  m.optional(dtype, {channels});
  m.numbers(Key::epsilon, {1e-5});
}
void histogram(Make& m) {
  const DType dtype = m.pick({DType::f32, DType::f64, DType::f32, DType::i64, DType::u8});
  const Sizes s = m.shape(m.in(0, 3));
  m.operand(dtype, s);
  m.optional(dtype, {m.extent(1, 5)}, 40);
  m.optional(dtype, s, 30);
  m.set(Key::bins, m.in(1, 6));
  m.numbers(Key::range,
            m.pick<std::vector<double>>({{}, {0, 1}, {-1e308, 1e308}, {1, 1}, {0, 1e-320}, {m.number(), m.number()}}));
  m.set(Key::density, m.in(0, 1));
  m.set(Key::full, m.in(0, 1));
}
void searchsorted(Make& m) {
  const DType dtype = m.pick({DType::f32, DType::f64, DType::i64, DType::u8, DType::f16});
  const Sizes lead = m.shape(m.in(0, 2));
  const std::int64_t n = m.extent(0, 5);
  Sizes sorted = lead, values = lead;
  if (m.chance(30)) sorted.clear();
  sorted.push_back(n);
  values.push_back(m.extent(0, 4));
  m.operand(dtype, sorted);
  m.operand(dtype, values);
  if (m.chance(40)) m.operand(DType::i64, sorted);
  m.set(Key::right, m.in(0, 1));
  m.set(Key::dtype, m.index());
}
void segment_reduce(Make& m) {
  const Sizes s = m.shape(m.in(1, 3));
  const std::int64_t axis = m.axis(s);
  Sizes lengths(s.begin(), s.begin() + axis);
  lengths.push_back(m.in(1, 4));
  m.operand(m.floating(), s);
  m.operand(m.index(), lengths);
  m.set(Key::kind, m.in(1, 5));
  m.set(Key::axis, axis);
  if (m.chance(50)) m.numbers(Key::value, {m.number()});
}

}  // namespace

void list_reductions(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::reduce, reduce);
  set(Op::select_reduce, select_reduce);
  set(Op::scan, scan);
  set(Op::sort, sort);
  set(Op::topk, topk);
  set(Op::softmax, softmax);
  set(Op::layer_norm, layer_norm);
  set(Op::rms_norm, layer_norm);
  set(Op::group_norm, group_norm);
  set(Op::batch_norm, batch_norm);
  set(Op::histogram, histogram);
  set(Op::searchsorted, searchsorted);
  set(Op::segment_reduce, segment_reduce);
}

}  // namespace tern::fuzz
