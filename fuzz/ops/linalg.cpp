// Programs of linear algebra and Fourier transforms.
#include <algorithm>

#include "fuzz/ops/table.h"

namespace tern::fuzz {
namespace {

Sizes of(Sizes lead, std::initializer_list<std::int64_t> last) {
  lead.insert(lead.end(), last);
  return lead;
}
Sizes lead(Make& m) {
  return m.shape(m.in(0, 2));
}

/// kind 0: complex to complex, 1: real to complex, 2: complex to real.
void fft(Make& m) {
  const Sizes s = m.shape(m.in(1, 4), 1);
  const std::int64_t kind = m.in(0, 2), first = m.in(0, static_cast<std::int64_t>(s.size()) - 1);
  Sizes axes;
  for (std::int64_t a = first; a < static_cast<std::int64_t>(s.size()); ++a) {
    if (a == first || m.chance(40)) axes.push_back(a);
  }
  std::reverse(axes.begin(), axes.end());
  m.operand(kind == 1 ? m.pick({DType::f32, DType::f64}) : m.pick({DType::c64, DType::c128}), s);
  m.set(Key::kind, kind);
  m.set(Key::axes, axes);
  m.set(Key::forward, m.in(0, 1));
  m.set(Key::norm, m.in(0, 2));
  if (kind == 2)
    m.set(Key::length, m.size(std::max<std::int64_t>(1, 2 * s[static_cast<std::size_t>(axes.back())] - m.in(1, 2))));
}
/// Regular matrices, small enough for definitions to take milliseconds.
void regular(Make& m) {
  m.special = SpecialData::no;
  m.independent = true;
}
std::int64_t order(Make& m) {
  return std::min<std::int64_t>(m.extent(0, 5), 33);
}
/// A square matrix, and optional flags of the op.
void square(Make& m) {
  regular(m);
  const std::int64_t n = order(m);
  m.operand(m.matrix(), of(lead(m), {n, n}));
  if (m.node.op == Op::cholesky || m.node.op == Op::eigh) m.set(Key::upper, m.in(0, 1));
  if (m.node.op == Op::ldl_factor) m.set(Key::hermitian, m.in(0, 1));
  if (m.node.op == Op::cholesky || m.node.op == Op::ldl_factor) m.set(Key::check, m.tame() ? 1 : m.in(0, 1));
}
void rectangle(Make& m) {
  regular(m);
  m.operand(m.matrix(), of(lead(m), {order(m), m.in(0, 5)}));
  if (m.node.op == Op::qr) m.set(Key::mode, m.in(0, 3));
  if (m.node.op == Op::svd) m.set(Key::full, m.in(0, 1));
  if (m.node.op == Op::lu_factor) m.set(Key::check, m.in(0, 1));
}
void householder(Make& m) {
  regular(m);
  const DType dtype = m.matrix();
  const Sizes l = m.shape(m.in(0, 1));
  const std::int64_t rows = m.in(0, 5), columns = m.in(0, rows), k = m.in(0, columns), other = m.in(0, 4);
  if (m.chance(50)) {
    m.operand(dtype, of(l, {rows, columns}));
    m.operand(dtype, of(l, {k}));
    m.set(Key::kind, 0);
  } else {
    const bool left = m.chance(50);
    m.operand(dtype, of(l, {rows, k}));
    m.operand(dtype, of(l, {k}));
    m.operand(dtype, left ? of(l, {rows, other}) : of(l, {other, rows}));
    m.set(Key::kind, 1);
    m.set(Key::left, left ? 1 : 0);
    m.set(Key::transpose, m.in(0, 2));
  }
}
/// A square matrix, the extra operands of factors, and the right side.
void solve(Make& m) {
  regular(m);
  const DType dtype = m.matrix();
  const std::int64_t n = order(m), others = m.in(0, 3);
  const Sizes l = lead(m);
  const bool left = m.node.op == Op::ldl_solve || m.chance(50);
  m.operand(dtype, of(l, {n, n}));
  if (m.node.op != Op::triangular_solve) m.operand(DType::i32, of(l, {n}));
  m.operand(dtype, left ? of(l, {n, others}) : of(l, {others, n}));
  if (m.node.op == Op::ldl_solve) {
    m.set(Key::hermitian, m.in(0, 1));
  } else {
    m.set(Key::left, left ? 1 : 0);
    m.set(Key::transpose, m.in(0, 2));
  }
  if (m.node.op == Op::triangular_solve) {
    m.set(Key::upper, m.in(0, 1));
    m.set(Key::unit, m.in(0, 1));
  }
}
void lstsq(Make& m) {
  regular(m);
  const DType dtype = m.matrix();
  const std::int64_t rows = m.in(0, 5);
  const Sizes l = m.shape(m.in(0, 1));
  m.operand(dtype, of(l, {rows, m.in(0, 5)}));
  m.operand(dtype, of(l, {rows, m.in(0, 3)}));
  m.set(Key::mode, m.in(0, 3));
  if (m.chance(60)) m.numbers(Key::epsilon, {m.tame() || m.chance(50) ? 1e-5 : m.number()});
}

}  // namespace

void list_linalg(MakerTable& t) {
  const auto set = [&](Op op, Maker maker) { t[static_cast<std::size_t>(op)] = maker; };
  set(Op::fft, fft);
  for (Op op : {Op::cholesky, Op::eigh, Op::eig, Op::ldl_factor, Op::matrix_exp}) set(op, square);
  for (Op op : {Op::qr, Op::svd, Op::lu_factor}) set(op, rectangle);
  set(Op::householder, householder);
  for (Op op : {Op::lu_solve, Op::triangular_solve, Op::ldl_solve}) set(op, solve);
  set(Op::lstsq, lstsq);
}

}  // namespace tern::fuzz
