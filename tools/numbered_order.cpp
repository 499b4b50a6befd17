#include "tools/numbered_order.h"

#include <algorithm>

namespace tern {
namespace {

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digits_from(const std::string& text, std::size_t begin) {
  return static_cast<std::size_t>(
             std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_decimal) -
             text.begin()) -
         begin;
}

}  // namespace

bool is_numbered_before(const std::string& a, const std::string& b) {
  const auto common_size = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto left = static_cast<unsigned char>(a.c_str()[common_size]),
             right = static_cast<unsigned char>(b.c_str()[common_size]);
  std::size_t begin = common_size;  // first digit of the differing number
  while (begin > 0 && is_decimal(a[begin - 1])) --begin;
  const char first_a = a.c_str()[begin], first_b = b.c_str()[begin];
  if (is_decimal(first_a) && first_a != '0' && is_decimal(first_b) && first_b != '0') {
    const std::size_t more_a = digits_from(a, common_size), more_b = digits_from(b, common_size);
    if (more_a != more_b) return more_a < more_b;
  } else if (begin < common_size && a.find_first_not_of('0', begin) >= common_size &&
             (is_decimal(a.c_str()[common_size]) || is_decimal(b.c_str()[common_size]))) {
    // More zeros make a smaller fraction: digits come before the end and other characters.
    return static_cast<unsigned char>(left - '0') < static_cast<unsigned char>(right - '0');
  }
  return left < right;
}

}  // namespace tern
