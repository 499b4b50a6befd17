// The numbers of ops and of the keys of attributes.
#pragma once

#include <cstdint>
#include <string_view>

namespace tern {

// X(number, name). The numbers are part of the archive format. What else is true of an op is in its record
// (schema/op_record.h); what it computes in detail is documented beside its shape rule in schema/infer/.
// clang-format off
#define TERN_OPS(X)                                                                       \
  /* views: strides, never work, where the input's strides allow it */                    \
  X(1, reshape)                                                                           \
  X(2, permute)                                                                           \
  X(3, slice)                                                                             \
  X(4, expand)                                                                            \
  X(5, as_strided)                                                                        \
  X(6, bitcast)                                                                           \
  /* elementwise and sources */                                                           \
  X(10, pointwise)                                                                        \
  X(11, full)                                                                             \
  X(12, iota)                                                                             \
  X(13, from_dim)                                                                         \
  X(14, random)                                                                           \
  /* along axes */                                                                        \
  X(20, reduce)                                                                           \
  X(21, select_reduce)                                                                    \
  X(22, scan)                                                                             \
  X(23, sort)                                                                             \
  X(24, topk)                                                                             \
  X(25, softmax)                                                                          \
  X(26, layer_norm)                                                                       \
  X(27, rms_norm)                                                                         \
  X(28, group_norm)                                                                       \
  X(29, batch_norm)                                                                       \
  X(30, histogram)                                                                        \
  X(31, searchsorted)                                                                     \
  X(32, segment_reduce)                                                                   \
  /* moving elements */                                                                   \
  X(40, gather)                                                                           \
  X(41, index_select)                                                                     \
  X(42, index)                                                                            \
  X(43, index_put)                                                                        \
  X(44, scatter)                                                                          \
  X(45, slice_scatter)                                                                    \
  X(46, as_strided_scatter)                                                               \
  X(47, concat)                                                                           \
  X(48, pad)                                                                              \
  X(49, nonzero)                                                                          \
  X(50, unique)                                                                           \
  X(51, bincount)                                                                         \
  X(52, embedding_bag)                                                                    \
  X(53, repeat_interleave)                                                                \
  /* contractions and windows */                                                          \
  X(60, matmul)                                                                           \
  X(61, convolution)                                                                      \
  X(62, pool)                                                                             \
  X(63, adaptive_pool)                                                                    \
  X(64, resize)                                                                           \
  X(65, grid_sample)                                                                      \
  X(66, attention)                                                                        \
  X(67, grouped_matmul)                                                                   \
  X(68, fold)                                                                             \
  X(69, rnn)                                                                              \
  X(70, cdist)                                                                            \
  X(71, roi_align)                                                                        \
  X(72, nms)                                                                              \
  X(73, fractional_pool)                                                                  \
  /* linear algebra and transforms */                                                     \
  X(80, fft)                                                                              \
  X(81, cholesky)                                                                         \
  X(82, qr)                                                                               \
  X(83, householder)                                                                      \
  X(84, eigh)                                                                             \
  X(85, eig)                                                                              \
  X(86, svd)                                                                              \
  X(87, lu_factor)                                                                        \
  X(88, lu_solve)                                                                         \
  X(89, triangular_solve)                                                                 \
  X(90, ldl_factor)                                                                       \
  X(91, ldl_solve)                                                                        \
  X(92, lstsq)                                                                            \
  X(93, matrix_exp)                                                                       \
  /* training */                                                                          \
  X(100, optim)                                                                           \
  X(101, collective)                                                                      \
  /* microscaling: elements and scales become one value, and back to numbers */           \
  X(110, mx_pack)                                                                         \
  X(111, mx_dequantize)                                                                   \
  /* control flow and the host */                                                         \
  X(120, cond)                                                                            \
  X(121, while_loop)                                                                      \
  X(122, scan_loop)                                                                       \
  X(123, map_loop)                                                                        \
  X(124, call)                                                                            \
  X(125, item)                                                                            \
  X(126, assert_dim)                                                                      \
  X(127, assert_true)                                                                     \
  X(128, custom)                                                                          \
  X(129, masked_select)
// clang-format on

enum class Op : std::uint16_t {
  invalid = 0,
#define TERN_OP_ENUM(number, name) name = number,
  TERN_OPS(TERN_OP_ENUM)
#undef TERN_OP_ENUM
};
inline constexpr int kMaxOp = 129;

/// A literal, so that a zero follows; empty when there is no such op.
std::string_view op_name(Op op);
Op op_from_name(std::string_view name);

// X(number, name): keys of attributes. Numbers are part of the archive format. A value is a list of sizes (also used
// for integers, booleans and enumerations), a list of doubles, or a text. What a key means on an op is in the op's
// record. 65 and 66 were never written.
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
  X(67, density)      \
  X(68, check)
// clang-format on

enum class AttrKey : std::uint16_t {
#define TERN_ATTR_ENUM(number, name) name = number,
  TERN_ATTRS(TERN_ATTR_ENUM)
#undef TERN_ATTR_ENUM
};
inline constexpr int kMaxAttr = 68;
std::string_view attr_name(AttrKey key);

}  // namespace tern
