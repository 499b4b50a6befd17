// Order of names with numbers.
#include "tools/numbered_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tern {
namespace {

TEST(NumberedOrder, IsThatOfTheManualOfGlibc) {
  const std::vector<std::vector<std::string>> orders = {
      {"000", "00", "01", "010", "09", "0", "1", "9", "10"},
      {"call1.npz", "call2.npz", "call10.npz"},
      {"", "a", "a1", "a1b", "a2", "a12", "b"},
      {"foo 00.npy", "foo 0.npy", "foo 1.npy"},
      {"x9y9", "x9y10", "x10y1", "x\xc3\xa9"},
  };
  for (const std::vector<std::string>& names : orders) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t k = 0; k < names.size(); ++k)
        EXPECT_EQ(is_numbered_before(names[i], names[k]), i < k) << names[i] << " and " << names[k];
    }
  }
}

}  // namespace
}  // namespace tern
