// Numbers of ops and attribute keys.
#pragma once

#include <cstdint>
#include <string_view>

#include "schema/op_list.h"  // generated: TERN_OPS, kMaxOp

namespace tern {

// Numbers are part of the archive format. The op's record (schema/ops/) holds all other properties; its first line
// gives number and name.
enum class Op : std::uint16_t {
  invalid = 0,
#define TERN_OP_ENUM(number, name) name = number,
  TERN_OPS(TERN_OP_ENUM)
#undef TERN_OP_ENUM
};

/// Returns a literal (zero-terminated); empty if no such op exists.
std::string_view op_name(Op op);
Op op_from_name(std::string_view name);

// X(number, name): keys of attributes. Numbers are part of the archive format. Values are lists of sizes (also for
// integers, booleans and enumerations), lists of doubles, or texts. The op's record defines a key's meaning. 65 and 66
// were never written.
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
  X(68, check)        \
  X(69, fill)
// clang-format on

enum class AttrKey : std::uint16_t {
#define TERN_ATTR_ENUM(number, name) name = number,
  TERN_ATTRS(TERN_ATTR_ENUM)
#undef TERN_ATTR_ENUM
};
inline constexpr int kMaxAttr = 69;
std::string_view attr_name(AttrKey key);

}  // namespace tern
