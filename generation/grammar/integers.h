// Decimal numbers in bounds.
#pragma once

#include <cstdint>

#include "generation/grammar/grammar.h"

namespace tern::grammar {

/// Integers with more digits are not written: doubles hold no more of them.
inline constexpr std::size_t kMaxDigits = 15;
inline constexpr std::int64_t kLargestInteger = 999999999999999;

/// Integers from `low` to `high` without leading zeros. Bounds beyond kLargestInteger become it.
Symbol integers(Builder& builder, std::int64_t low, std::int64_t high);

}  // namespace tern::grammar
