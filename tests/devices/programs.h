// Programs with control flow and results that are easy to compute.
#pragma once

#include <vector>

#include "tests/runtime/support.h"

namespace tern::testing {

/// Adds control flow `node` over bodies of a single f32 vector each; returns its outputs.
inline std::vector<ValueId> add_control(TestProgram& p, std::uint32_t function, Op op, std::vector<ValueId> inputs,
                                        std::vector<std::uint32_t> functions, std::vector<Attr> attrs = {}) {
  Node n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.functions = std::move(functions);
  n.attrs = std::move(attrs);
  return Builder(p.program(), function).add(std::move(n));
}

/// A body of (x) -> expression of x.
inline std::uint32_t add_map(TestProgram& p, const char* expression, std::int64_t size) {
  const std::uint32_t f = p.add_body();
  const ValueId x = p.input(DType::f32, {size}, f);
  p.output(Builder(p.program(), f).expr(expression, {{"x", x}}, DType::f32), f);
  return f;
}

constexpr std::int64_t kVector = 5;

/// (predicate, x): x * 2 + 1 if true, else x - 3.
inline TestProgram cond_program() {
  TestProgram p;
  const ValueId predicate = p.input(DType::boolean, {}), x = p.input(DType::f32, {kVector});
  const std::uint32_t yes = add_map(p, "x * 2 + 1", kVector), no = add_map(p, "x - 3", kVector);
  p.output(add_control(p, 0, Op::cond, {predicate, x}, {yes, no})[0]);
  return p;
}

/// (a, b, x): cond_program by b if a, else -x.
inline TestProgram nested_cond_program() {
  TestProgram p;
  const ValueId a = p.input(DType::boolean, {}), b = p.input(DType::boolean, {}), x = p.input(DType::f32, {kVector});
  const std::uint32_t inner = p.add_body(), no = p.add_body();
  const std::uint32_t twice = add_map(p, "x * 2 + 1", kVector), minus = add_map(p, "x - 3", kVector);
  const ValueId inner_b = p.input(DType::boolean, {}, inner), inner_x = p.input(DType::f32, {kVector}, inner);
  p.output(add_control(p, inner, Op::cond, {inner_b, inner_x}, {twice, minus})[0], inner);
  p.input(DType::boolean, {}, no);
  const ValueId no_x = p.input(DType::f32, {kVector}, no);
  p.output(Builder(p.program(), no).expr("-x", {{"x", no_x}}, DType::f32), no);
  p.output(add_control(p, 0, Op::cond, {a, b, x}, {inner, no})[0]);
  return p;
}

/// (count, x): x = x + 1, `count` times; inside, x - 7 instead if x[0] is above 10. Returns x and 0.
inline TestProgram while_program() {
  TestProgram p;
  const ValueId count = p.input(DType::i64, {}), x = p.input(DType::f32, {kVector});
  const std::uint32_t condition = p.add_body(), body = p.add_body();
  const std::uint32_t down = add_map(p, "x - 7", kVector), up = add_map(p, "x + 1", kVector);
  {
    const ValueId n = p.input(DType::i64, {}, condition);
    p.input(DType::f32, {kVector}, condition);
    p.output(Builder(p.program(), condition).expr("n > 0", {{"n", n}}, DType::i64, DType::boolean), condition);
  }
  {
    const ValueId n = p.input(DType::i64, {}, body), v = p.input(DType::f32, {kVector}, body);
    Builder b(p.program(), body);
    const ValueId large = b.expr("v > 10", {{"v", b.select(v, 0, Dim(0))}}, DType::f32, DType::boolean);
    const ValueId next = add_control(p, body, Op::cond, {large, v}, {down, up})[0];
    p.output(b.expr("n - 1", {{"n", n}}, DType::i64), body);
    p.output(next, body);
  }
  const auto out = add_control(p, 0, Op::while_loop, {count, x}, {condition, body}, {attr(AttrKey::carried, Dim(2))});
  p.output(out[1]);
  p.output(out[0]);
  return p;
}

}  // namespace tern::testing
