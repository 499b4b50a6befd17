// Programs of ops that move elements by strides.
#include <algorithm>
#include <limits>

#include "fuzz/ops/table.h"

namespace tern::fuzz {
namespace {

std::int64_t count(const Sizes& s) {
  std::int64_t n = 1;
  for (std::int64_t d : s) n *= d;
  return n;
}

void reshape(Make& m) {
  const Sizes s = m.any_shape();
  m.operand(m.any(), s);
  m.set(Key::sizes, m.pick<Sizes>({{count(s)}, {1, count(s)}, {count(s), 1, 1}, Sizes(s.rbegin(), s.rend())}));
}
void permute(Make& m) {
  const Sizes s = m.any_shape();
  m.operand(m.any(), s);
  Sizes axes;
  for (std::size_t i = 0; i < s.size(); ++i)
    axes.insert(axes.begin() + m.in(0, static_cast<std::int64_t>(i)), static_cast<std::int64_t>(i));
  m.set(Key::axes, axes);
}
void slice(Make& m) {
  const Sizes s = m.shape(m.in(1, 4));
  const std::int64_t axis = m.axis(s),
                     start = m.in(0, std::max<std::int64_t>(0, s[static_cast<std::size_t>(axis)] - 1));
  m.operand(m.any(), s);
  m.set(Key::axis, axis);
  m.set(Key::start, m.size(start));
  m.set(Key::length, m.size(m.in(0, 3)));
  m.set(Key::step, m.pick<std::int64_t>({1, 1, 2, -1, -2, 3, (std::int64_t{1} << 62) - 1, -(std::int64_t{1} << 62)}));
}
void expand(Make& m) {
  const Sizes s = m.list(m.in(0, 3), 1, 3);
  m.operand(m.any(), s);
  Sizes to = m.any_shape();
  for (std::int64_t d : s) to.push_back(d == 1 ? m.in(0, 4) : d);
  m.set(Key::sizes, to);
}
void as_strided(Make& m) {
  const Sizes s = m.any_shape(), to = m.shape(m.in(0, 3));
  m.operand(m.any(), s);
  Dims sizes;
  for (std::int64_t d : to) sizes.push_back(m.size(d));
  m.set(Key::sizes, sizes);
  m.set(Key::strides, m.list(static_cast<std::int64_t>(to.size()), 0, 2));
  m.set(Key::offset, m.size(m.in(0, std::max<std::int64_t>(0, count(s) / 2))));
}
void bitcast(Make& m) {
  Sizes s = m.any_shape();
  s.push_back(m.pick<std::int64_t>({1, 2, 4, 8, 16}));
  m.operand(m.any(), s);
  m.set(Key::dtype, m.any());
  if (m.chance(20)) m.set(Key::k, 1);
}
void concat(Make& m) {
  Sizes s = m.shape(m.in(1, 4));
  const std::int64_t axis = m.axis(s);
  const DType dtype = m.any();
  for (std::int64_t i = m.in(1, 4); i > 0; --i) {
    s[static_cast<std::size_t>(axis)] = m.in(0, 4);
    m.operand(dtype, s);
  }
  m.set(Key::axis, axis);
}
void pad(Make& m) {
  const Sizes s = m.any_shape();
  const std::int64_t mode = m.in(0, 3), rank = static_cast<std::int64_t>(s.size()),
                     low = mode == 0 || m.chance(10) ? -3 : 0;
  m.operand(m.any(), s);
  m.set(Key::before, m.list(rank, low, mode == 0 ? 4 : 2));
  m.set(Key::after, m.list(rank, low, mode == 0 ? 4 : 2));
  m.set(Key::mode, mode);
  m.numbers(Key::value, {m.number()});
}
void slice_scatter(Make& m) {
  const Sizes s = m.shape(m.in(1, 4), 1);
  const std::int64_t axis = m.axis(s), size = s[static_cast<std::size_t>(axis)],
                     step = m.pick<std::int64_t>({1, 1, -1, 2});
  const DType dtype = m.any();
  Sizes part = s;
  part[static_cast<std::size_t>(axis)] = m.in(0, step == 2 ? (size + 1) / 2 : size);
  m.operand(dtype, s);
  m.operand(dtype, part);
  m.set(Key::axis, axis);
  m.set(Key::start, m.size(step > 0 ? 0 : size - 1));
  m.set(Key::step, step);
}
void as_strided_scatter(Make& m) {
  const Sizes s = m.shape(m.in(1, 4), 1), part = m.shape(m.in(0, 2));
  const DType dtype = m.any();
  m.operand(dtype, s);
  m.operand(dtype, part);
  Sizes strides = m.list(static_cast<std::int64_t>(part.size()), 0, 2);
  std::int64_t step = 1;  // any of several colliding elements may win
  for (std::size_t i = part.size(); m.tame() && i-- > 0; step *= part[i]) strides[i] = step;
  m.set(Key::strides, strides);
  m.set(Key::offset, m.size(m.in(0, count(s) / 2)));
}

}  // namespace

void list_movement(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::reshape, reshape);
  set(Op::permute, permute);
  set(Op::slice, slice);
  set(Op::expand, expand);
  set(Op::as_strided, as_strided);
  set(Op::bitcast, bitcast);
  set(Op::concat, concat);
  set(Op::pad, pad);
  set(Op::slice_scatter, slice_scatter);
  set(Op::as_strided_scatter, as_strided_scatter);
}

}  // namespace tern::fuzz
