// Builds expressions by hand and runs the nodes, for tests of pointwise nodes.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/pointwise/loops.h"
#include "tests/kernels/node_run.h"

namespace tern::test {

/// An expression under construction; every function returns the new instruction's number.
struct Code {
  PointwiseExpr expr;

  std::uint16_t push(Scalar op, DType dtype, std::uint16_t a = 0, std::uint16_t b = 0, std::uint16_t c = 0) {
    Instruction i;
    i.op = op;
    i.dtype = dtype;
    i.a = a;
    i.b = b;
    i.c = c;
    expr.code.push_back(i);
    return static_cast<std::uint16_t>(expr.code.size() - 1);
  }
  std::uint16_t load(std::int64_t input, DType dtype) {
    const std::uint16_t at = push(Scalar::load, dtype);
    expr.code.back().integer = input;
    return at;
  }
  std::uint16_t constant(DType dtype, double v) {
    const std::uint16_t at = push(Scalar::constant, dtype);
    expr.code.back().number = v;
    expr.code.back().integer = is_floating(dtype) || is_complex(dtype) ? 0 : static_cast<std::int64_t>(v);
    return at;
  }
  /// Loads an input and converts to its compute type.
  std::uint16_t operand(std::int64_t input, DType dtype) {
    const std::uint16_t at = load(input, dtype);
    return compute_type(dtype) == dtype ? at : push(Scalar::convert, compute_type(dtype), at);
  }
};

/// op(x, y, z) over lists, all operands of type `t`; the result is of type `result` (else t).
inline std::vector<Number> apply(Scalar op, DType t, const std::vector<std::vector<double>>& operands,
                                 DType result = DType::invalid) {
  NodeRun run(Op::pointwise);
  Code code;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    run.input(t, {static_cast<std::int64_t>(operands[i].size())}, operands[i]);
    code.operand(static_cast<std::int64_t>(i), t);
  }
  std::vector<std::uint16_t> at;
  for (std::size_t i = 0; i < code.expr.code.size(); ++i) {
    if (code.expr.code[i].dtype == compute_type(t)) at.push_back(static_cast<std::uint16_t>(i));
  }
  at.resize(3, 0);
  code.push(op, result == DType::invalid ? compute_type(t) : result, at[0], at[1], at[2]);
  if (result == DType::invalid && compute_type(t) != t) {
    code.push(Scalar::convert, t, static_cast<std::uint16_t>(code.expr.code.size() - 1));
  }
  run.node().expr = code.expr;
  return run.run().output();
}

/// The loops for each instruction set of this processor.
inline std::vector<pointwise::LoopTable> all_tables() {
  std::vector<pointwise::LoopTable> all;
  for_each_level(pointwise::add_plain_loops_levels, [&](auto add) { add(all.emplace_back()); });
  return all;
}

}  // namespace tern::test
