// Programs of gathers, scatters and other ops with index tensors, and of ops with data-dependent sizes.
#include <algorithm>

#include "fuzz/ops/table.h"

namespace tern::fuzz {
namespace {

void gather(Make& m) {
  const Sizes s = m.shape(m.in(1, 4), 1);
  const std::int64_t axis = m.axis(s);
  Sizes index;
  for (std::int64_t d : s) index.push_back(m.in(0, d));
  index[static_cast<std::size_t>(axis)] = m.in(0, 6);
  m.operand(m.any(), s);
  m.operand(m.index(), index);
  m.set(Key::axis, axis);
}
/// Rows of a quantized table.
void select_quantized(Make& m) {
  Sizes s = m.shape(m.in(1, 3));
  s.push_back(m.in(1, 40));
  m.node.inputs.push_back(m.quantized(s));
  m.operand(m.index(), m.shape(m.in(0, 2)));
  m.set(Key::axis, m.in(0, static_cast<std::int64_t>(s.size()) - 2));
  m.set(Key::dtype, m.floating());
}
void index_select(Make& m) {
  if (m.chance(25)) return select_quantized(m);
  const Sizes s = m.shape(m.in(1, 4));
  m.operand(m.any(), s);
  m.operand(m.index(), m.shape(m.in(0, 2)));
  m.set(Key::axis, m.axis(s));
}
void index(Make& m) {
  const Sizes s = m.shape(m.in(1, 4)), positions = m.shape(m.in(0, 2));
  m.operand(m.any(), s);
  for (std::int64_t i = m.in(1, static_cast<std::int64_t>(s.size())); i > 0; --i) m.operand(m.index(), positions);
}
void index_put(Make& m) {
  const Sizes s = m.shape(m.in(1, 4)), positions = m.shape(m.in(0, 2));
  const std::int64_t k = m.in(1, static_cast<std::int64_t>(s.size()));
  const DType dtype = m.any();
  Sizes place = positions;
  place.insert(place.end(), s.begin() + k, s.end());
  for (std::int64_t& d : place) d = m.chance(70) ? d : 1;
  place.erase(place.begin(), place.begin() + m.in(0, static_cast<std::int64_t>(place.size())));
  m.operand(dtype, s);
  m.operand(dtype, place);
  for (std::int64_t i = 0; i < k; ++i) m.operand(m.index(), positions);
  m.set(Key::accumulate, m.in(0, 1));
}
void scatter(Make& m) {
  const Sizes s = m.shape(m.in(1, 4), 1);
  const std::int64_t axis = m.axis(s);
  const DType dtype = m.any();
  Sizes index, source;
  for (std::int64_t d : s) index.push_back(m.in(0, d));
  index[static_cast<std::size_t>(axis)] = m.in(0, 5);
  for (std::int64_t d : index) source.push_back(d + m.in(0, 1));
  m.operand(dtype, s);
  m.operand(m.index(), index);
  m.operand(dtype, m.chance(80) ? source : Sizes{});
  m.set(Key::axis, axis);
  m.set(Key::kind, m.in(0, 5));
  m.set(Key::include_self, m.in(0, 1));
}
void nonzero(Make& m) {
  m.operand(m.any(), m.any_shape());
  m.set(Key::symbols, m.unbound());
}
void masked_select(Make& m) {
  const Sizes s = m.any_shape();
  Sizes mask;
  for (std::int64_t d : s) mask.push_back(m.chance(80) ? d : 1);
  mask.erase(mask.begin(), mask.begin() + m.in(0, static_cast<std::int64_t>(mask.size())));
  m.operand(m.any(), s);
  m.operand(DType::boolean, mask);
  m.set(Key::symbols, m.unbound());
}
void unique(Make& m) {
  const Sizes s = m.any_shape();
  m.operand(m.real(), s);
  m.set(Key::consecutive, m.in(0, 1));
  m.set(Key::symbols, m.unbound());
  if (!s.empty() && m.chance(50)) m.set(Key::axis, m.axis(s));
}
void bincount(Make& m) {
  const std::int64_t n = m.extent(0, 6);
  m.operand(m.pick({DType::i64, DType::i32, DType::u8, DType::u64}), {n});
  if (m.chance(40)) m.operand(m.pick({DType::f32, DType::f64}), {n});
  m.set(Key::length, m.size(m.in(0, 8)));
  m.set(Key::symbols, m.unbound());
}
void embedding_bag(Make& m) {
  const std::int64_t kind = m.in(0, 2), n = m.extent(0, 6);
  const DType dtype = m.floating();
  m.operand(dtype, {m.extent(0, 5), m.extent(0, 4)});
  m.operand(m.index(), {n});
  m.operand(m.index(), {m.in(0, 4)});
  if (kind == 0 && m.chance(50)) m.operand(dtype, {n});
  m.set(Key::kind, kind);
  m.set(Key::padding_index, m.in(-1, 3));
  m.set(Key::full, m.in(0, 1));
}
void repeat_interleave(Make& m) {
  const Sizes s = m.shape(m.in(1, 3));
  const std::int64_t axis = m.axis(s);
  m.operand(m.any(), s);
  m.operand(m.index(), {m.pick<std::int64_t>({1, s[static_cast<std::size_t>(axis)]})});
  m.set(Key::axis, axis);
  m.set(Key::symbols, m.unbound());
}

}  // namespace

void list_indexing(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::gather, gather);
  set(Op::index_select, index_select);
  set(Op::index, index);
  set(Op::index_put, index_put);
  set(Op::scatter, scatter);
  set(Op::nonzero, nonzero);
  set(Op::masked_select, masked_select);
  set(Op::unique, unique);
  set(Op::bincount, bincount);
  set(Op::embedding_bag, embedding_bag);
  set(Op::repeat_interleave, repeat_interleave);
}

}  // namespace tern::fuzz
