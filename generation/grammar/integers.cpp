#include "generation/grammar/integers.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace tern::grammar {
namespace {

Symbols any_digits(Builder& b, std::size_t count) {
  return {count, b.byte_range('0', '9')};
}

/// Numbers of as many digits as `low` and `high` have, behind the digits of `begin`.
void add_digits(Builder& b, std::string_view low, std::string_view high, const Symbols& begin,
                std::vector<Symbols>& alternatives) {
  if (low.empty()) {
    alternatives.push_back(begin);
    return;
  }
  const auto prefixed = [&](char first, char last) {
    return joined({begin, {b.byte_range(static_cast<unsigned char>(first), static_cast<unsigned char>(last))}});
  };
  const std::string zeros(low.size() - 1, '0'), nines(low.size() - 1, '9');
  char first = low[0], last = high[0];
  if (first == last) return add_digits(b, low.substr(1), high.substr(1), prefixed(first, first), alternatives);
  if (low.substr(1) != zeros) {
    add_digits(b, low.substr(1), nines, prefixed(first, first), alternatives);
    ++first;
  }
  if (high.substr(1) != nines) {
    add_digits(b, zeros, high.substr(1), prefixed(last, last), alternatives);
    --last;
  }
  if (first <= last) alternatives.push_back(joined({prefixed(first, last), any_digits(b, low.size() - 1)}));
}

/// Numbers from `low` to `high`, both 0 or more.
void add_natural(Builder& b, std::int64_t low, std::int64_t high, const Symbols& begin,
                 std::vector<Symbols>& alternatives) {
  for (std::int64_t size = 1, first = 0, end = 10; first <= high && size <= 15; ++size, first = end, end *= 10) {
    const std::int64_t range_begin = std::max(low, first), range_end = std::min(high, end - 1);
    if (range_begin <= range_end)
      add_digits(b, std::to_string(range_begin), std::to_string(range_end), begin, alternatives);
  }
}

}  // namespace

Symbol integers(Builder& builder, std::int64_t low, std::int64_t high) {
  low = std::clamp(low, -kLargestInteger, kLargestInteger);
  high = std::clamp(high, -kLargestInteger, kLargestInteger);
  std::vector<Symbols> alternatives;
  if (high >= 0) add_natural(builder, std::max<std::int64_t>(low, 0), high, {}, alternatives);
  if (low < 0) add_natural(builder, std::max<std::int64_t>(-high, 1), -low, builder.literal("-"), alternatives);
  return builder.one_of(std::move(alternatives));
}

}  // namespace tern::grammar
