// The closed set of operations, and the attributes that they carry. One line per op: this table is the list a device
// implements.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern {

// X(number, name, min_inputs, max_inputs (-1: any), outputs (-1: any), version)
// The numbers are part of the archive format. What each op computes is documented beside its shape rule in
// schema/infer/.
// clang-format off
#define TERN_OPS(X)                                                                                   \
  /* views: strides, never work, where the input's strides allow it */                                \
  X(1, reshape, 1, 1, 1, 1)                                                                           \
  X(2, permute, 1, 1, 1, 1)                                                                           \
  X(3, slice, 1, 1, 1, 1)                                                                             \
  X(4, expand, 1, 1, 1, 1)                                                                            \
  X(5, as_strided, 1, 1, 1, 1)                                                                        \
  X(6, bitcast, 1, 1, 1, 1)                                                                           \
  /* elementwise and sources */                                                                       \
  X(10, pointwise, 0, -1, 1, 1)                                                                       \
  X(11, full, 0, 0, 1, 1)                                                                             \
  X(12, iota, 0, 0, 1, 1)                                                                             \
  X(13, from_dim, 0, 0, 1, 1)                                                                         \
  X(14, random, 0, 2, 1, 1)                                                                           \
  /* along axes */                                                                                    \
  X(20, reduce, 1, 1, 1, 1)                                                                           \
  X(21, select_reduce, 1, 1, 2, 1)                                                                    \
  X(22, scan, 1, 1, -1, 1)                                                                            \
  X(23, sort, 1, 1, 2, 1)                                                                             \
  X(24, topk, 1, 1, 2, 1)                                                                             \
  X(25, softmax, 1, 1, 1, 1)                                                                          \
  X(26, layer_norm, 1, 3, 3, 1)                                                                       \
  X(27, rms_norm, 1, 2, 1, 1)                                                                         \
  X(28, group_norm, 1, 3, 3, 1)                                                                       \
  X(29, batch_norm, 3, 5, 1, 1)                                                                       \
  X(30, histogram, 1, 3, 2, 1)                                                                        \
  X(31, searchsorted, 2, 3, 1, 1)                                                                     \
  X(32, segment_reduce, 2, 2, 1, 1)                                                                   \
  /* moving elements */                                                                               \
  X(40, gather, 2, 2, 1, 1)                                                                           \
  X(41, index_select, 2, 2, 1, 1)                                                                     \
  X(42, index, 2, -1, 1, 1)                                                                           \
  X(43, index_put, 3, -1, 1, 1)                                                                       \
  X(44, scatter, 3, 3, 1, 1)                                                                          \
  X(45, slice_scatter, 2, 2, 1, 1)                                                                    \
  X(46, as_strided_scatter, 2, 2, 1, 1)                                                               \
  X(47, concat, 1, -1, 1, 1)                                                                          \
  X(48, pad, 1, 1, 1, 1)                                                                              \
  X(49, nonzero, 1, 1, 1, 1)                                                                          \
  X(50, unique, 1, 1, 3, 1)                                                                           \
  X(51, bincount, 1, 2, 1, 1)                                                                         \
  X(52, embedding_bag, 2, 4, -1, 1)                                                                   \
  X(53, repeat_interleave, 2, 2, 1, 1)                                                                \
  /* contractions and windows */                                                                      \
  X(60, matmul, 2, 3, 1, 1)                                                                           \
  X(61, convolution, 2, 3, 1, 1)                                                                      \
  X(62, pool, 1, 1, -1, 1)                                                                            \
  X(63, adaptive_pool, 1, 1, -1, 1)                                                                   \
  X(64, resize, 1, 1, 1, 1)                                                                           \
  X(65, grid_sample, 2, 2, 1, 1)                                                                      \
  X(66, attention, 3, 4, 1, 1)                                                                        \
  X(67, grouped_matmul, 3, 3, 1, 1)                                                                   \
  X(68, fold, 1, 1, 1, 1)                                                                             \
  X(69, rnn, 3, -1, -1, 1)                                                                            \
  X(70, cdist, 2, 2, 1, 1)                                                                            \
  X(71, roi_align, 2, 2, 1, 1)                                                                        \
  X(72, nms, 2, 2, 1, 1)                                                                              \
  X(73, fractional_pool, 2, 2, 2, 1)                                                                  \
  /* linear algebra and transforms */                                                                 \
  X(80, fft, 1, 1, 1, 1)                                                                              \
  X(81, cholesky, 1, 1, 2, 1)                                                                         \
  X(82, qr, 1, 1, 2, 1)                                                                               \
  X(83, householder, 2, 3, 1, 1)                                                                      \
  X(84, eigh, 1, 1, 2, 1)                                                                             \
  X(85, eig, 1, 1, 2, 1)                                                                              \
  X(86, svd, 1, 1, 3, 1)                                                                              \
  X(87, lu_factor, 1, 1, 3, 1)                                                                        \
  X(88, lu_solve, 3, 3, 1, 1)                                                                         \
  X(89, triangular_solve, 2, 2, 1, 1)                                                                 \
  X(90, ldl_factor, 1, 1, 3, 1)                                                                       \
  X(91, ldl_solve, 3, 3, 1, 1)                                                                        \
  X(92, lstsq, 2, 2, 4, 1)                                                                            \
  X(93, matrix_exp, 1, 1, 1, 1)                                                                       \
  /* training */                                                                                      \
  X(100, optim, 2, -1, -1, 1)                                                                         \
  X(101, collective, 1, 1, 1, 1)                                                                      \
  /* microscaling: elements and scales become one value, and back to numbers */                       \
  X(110, mx_pack, 2, 2, 1, 1)                                                                         \
  X(111, mx_dequantize, 1, 1, 1, 1)                                                                   \
  /* control flow and the host */                                                                     \
  X(120, cond, 1, -1, -1, 1)                                                                          \
  X(121, while_loop, 1, -1, -1, 1)                                                                    \
  X(122, scan_loop, 1, -1, -1, 1)                                                                     \
  X(123, map_loop, 1, -1, -1, 1)                                                                      \
  X(124, call, 0, -1, -1, 1)                                                                          \
  X(125, item, 1, 1, 0, 1)                                                                            \
  X(126, assert_dim, 0, 0, 0, 1)                                                                      \
  X(127, assert_true, 1, 1, 0, 1)                                                                     \
  X(128, custom, 0, -1, -1, 1)                                                                        \
  X(129, masked_select, 2, 2, 1, 1)
// clang-format on

enum class Op : std::uint16_t {
  invalid = 0,
#define TERN_OP_ENUM(number, name, lo, hi, outs, version) name = number,
  TERN_OPS(TERN_OP_ENUM)
#undef TERN_OP_ENUM
};
inline constexpr int kMaxOp = 129;

struct OpInfo {
  Op op = Op::invalid;
  std::string_view name;
  int min_inputs = 0, max_inputs = 0, outputs = 0;  ///< -1: any number
  int version = 1;                                  ///< the newest version that this build knows
};
/// The table's line, or one with Op::invalid when there is no such op.
const OpInfo& op_info(Op op);
Op op_from_name(std::string_view name);

// X(number, name): keys of attributes. Numbers are part of the archive format. A value is a list of sizes (also used
// for integers, booleans and enumerations), a list of doubles, or a text.
// clang-format off
#define TERN_ATTRS(X) \
  X(1, axis)          \
  X(2, axes)          \
  X(3, sizes)         \
  X(4, strides)       \
  X(5, offset)        \
  X(6, start)         \
  X(7, length)        \
  X(8, step)          \
  X(9, dtype)         \
  X(10, value)        \
  X(11, kind)         \
  X(12, keepdims)     \
  X(13, descending)   \
  X(14, stable)       \
  X(15, k)            \
  X(16, largest)      \
  X(17, log)          \
  X(18, epsilon)      \
  X(19, groups)       \
  X(20, accumulate)   \
  X(21, include_self) \
  X(22, before)       \
  X(23, after)        \
  X(24, mode)         \
  X(25, dilations)    \
  X(26, transposed)   \
  X(27, output_pads)  \
  X(28, kernel)       \
  X(29, ceil_mode)    \
  X(30, count_pads)   \
  X(31, divisor)      \
  X(32, align_corners)\
  X(33, scales)       \
  X(34, antialias)    \
  X(35, scale)        \
  X(36, causal)       \
  X(37, correction)   \
  X(38, right)        \
  X(39, bins)         \
  X(40, range)        \
  X(41, upper)        \
  X(42, left)         \
  X(43, unit)         \
  X(44, transpose)    \
  X(45, full)         \
  X(46, hermitian)    \
  X(47, forward)      \
  X(48, norm)         \
  X(49, counts)       \
  X(50, symbols)      \
  X(51, dim)          \
  X(52, text)         \
  X(53, block)        \
  X(54, layout)       \
  X(55, hyper)        \
  X(56, maximize)     \
  X(57, carried)      \
  X(58, mapped)       \
  X(59, name)         \
  X(60, consecutive)  \
  X(61, bidirectional)\
  X(62, layers)       \
  X(63, padding_index)\
  X(64, p)            \
  X(65, compute)      \
  X(66, reverse)      \
  X(67, density)      \
  X(68, check)
// clang-format on

enum class AttrKey : std::uint16_t {
#define TERN_ATTR_ENUM(number, name) name = number,
  TERN_ATTRS(TERN_ATTR_ENUM)
#undef TERN_ATTR_ENUM
};
std::string_view attr_name(AttrKey key);

}  // namespace tern
