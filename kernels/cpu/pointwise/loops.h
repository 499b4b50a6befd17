// The loops of pointwise expressions: a loop for each scalar operation and type of arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"
#include "kernels/cpu/pointwise/activation.h"
#include "schema/pointwise.h"

namespace tern::pointwise {

/// dst[i] = op(a[i], b[i], c[i]) for contiguous runs of `n`. dst may equal an operand, but may not overlap an operand
/// otherwise. Booleans are bytes of 0 or 1. Absent operands are not read.
using Loop = void (*)(void* dst, const void* a, const void* b, const void* c, std::int64_t n);

/// An operation of a chain: the chain's value x becomes x + y, y - x (sub_from) etc. with operand y. fma: x * y + left;
/// fma_add: y * left + x. where_lt: x if left < right, else y; where_lt_of: the reverse.
enum class ChainOp : std::uint8_t {
  // clang-format off
  add, sub, sub_from, mul, div, div_into, min, min_of, max, max_of, neg, abs, fma, fma_add,
  exp, sigmoid, tanh, erf,
  where_eq, where_ne, where_lt, where_le, where_eq_of, where_ne_of, where_lt_of, where_le_of
  // clang-format on
};
struct ChainOperand {
  const float* data = nullptr;
  std::int64_t step = 1;  ///< 0: a scalar, repeated for a vector or for the whole run
  std::int64_t row = 0;   ///< floats between rows
};
struct ChainLink {
  ChainOp op{};
  ChainOperand y, lhs, rhs;  ///< absent operands are not read
  float* store = nullptr;    ///< also stores the link's value here, for later links and other instructions
};
/// dst[i] = the links applied in turn to start[i], for runs of `n`. dst may be an operand. `stream` bypasses the
/// caches: dst is then aligned to 64 bytes, and end_stream() must follow.
using ChainLoop = void (*)(float* dst, ChainOperand start, const ChainLink* links, std::size_t count, std::int64_t n,
                           bool stream);

/// Identifies a link in the key of a chain: its operation, and the operands that vary from element to element.
inline constexpr int kChainLinkBits = 8;
constexpr std::uint64_t chain_link_key(ChainOp op, bool y_varies, bool left_varies, bool right_varies) {
  return (static_cast<std::uint64_t>(op) + 1) << 3 | std::uint64_t{y_varies} << 2 | std::uint64_t{left_varies} << 1 |
         std::uint64_t{right_varies};
}
/// A loop of chains with these links, whose start varies and whose links keep nothing. It does not bypass the caches.
struct KnownChain {
  std::uint64_t key = 0;  ///< chain_link_key of each link, the first in the highest bits
  ChainLoop loop = nullptr;
};
inline constexpr int kKnownChains = 22;

/// Applies a chain to rows of elements, `row` apart in dst: `columns` is a multiple of kChainColumns. Values kept by
/// links are dense.
using ChainRows = void (*)(float* dst, std::int64_t row, ChainOperand start, const ChainLink* links, std::size_t count,
                           std::int64_t rows, std::int64_t columns);
inline constexpr std::int64_t kChainColumns = 16;

inline constexpr int kLoopScalars = 137;
inline constexpr int kLoopTypes = 7;
/// Returns the table index of a type of arithmetic, or -1.
constexpr int loop_type(DType t) {
  switch (t) {
    case DType::boolean: return 0;
    case DType::i64: return 1;
    case DType::u64: return 2;
    case DType::f32: return 3;
    case DType::f64: return 4;
    case DType::c64: return 5;
    case DType::c128: return 6;
    default: return -1;
  }
}

/// Loops by operation and by the type of the last operand (the first is a boolean for `where`).
struct LoopTable {
  Loop loops[kLoopScalars][kLoopTypes] = {};
  ChainLoop chain = nullptr;
  ChainRows chain_rows = nullptr;
  ActivationLoop activations[kActivations] = {};
  ActivationLoop coarse_activations[kActivations] = {};  ///< results are rounded to bfloat16 afterwards
  Loop whole_activations[kActivations] = {};             ///< the same out of place
  KnownChain known_chains[kKnownChains] = {};

  // Always inlined: callers are compiled for several instruction sets; a shared copy would fit only one.
  __attribute__((always_inline)) void set(Scalar op, DType t, Loop loop) {
    loops[static_cast<std::size_t>(op)][loop_type(t)] = loop;
  }
  Loop get(Scalar op, DType t) const {
    const auto i = static_cast<std::size_t>(op);
    return i < kLoopScalars && loop_type(t) >= 0 ? loops[i][loop_type(t)] : nullptr;
  }
};

/// Returns the table for this processor.
const LoopTable& loop_table();

// Add loops to the table. Later calls override earlier loops.
void add_math_loops(LoopTable& t);        ///< C library functions: exp, sin, lgamma
void add_complex_loops(LoopTable& t);     ///< all complex loops
void add_special_loops(LoopTable& t);     ///< Bessel functions, zeta etc.
void add_polynomial_loops(LoopTable& t);  ///< orthogonal polynomials
// The same source for several instruction sets: arithmetic, comparisons, and the commonest functions of float. The bits
// of the results are the same for all.
TERN_LEVEL_FUNCTIONS(vectors, add_plain_loops, LoopTable& t)
/// Functions of doubles in vectors, also for floats: none below AVX2.
TERN_LEVEL_FUNCTIONS(vectors, add_function_loops, LoopTable& t)
/// With fused multiply-adds even where they are slow: the bits of processors that have them.
void add_plain_loops_fused(LoopTable& t);

/// Returns the loops defined by docs/reproducible.md: equal results on every processor and device.
const LoopTable& reproducible_loop_table();
// The functions of the texts of portable kernels, for several instruction sets.
// Each level adds to the loops of the level below: the loops that gain by it.
TERN_LEVEL_FUNCTIONS(vectors, add_text_loops, LoopTable& t)

}  // namespace tern::pointwise
