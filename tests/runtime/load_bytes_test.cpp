// Initial values of states: what lies beside them stays, also where pages of zeros go back to the system.
#include "runtime/devices/cpu/load_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tern {
namespace {

TEST(LoadBytes, CopiesWhatIsThereAndNothingElse) {
  constexpr std::size_t kBeside = 5000, kSizes[] = {0, 1, 100, 70'000, 1'000'000};
  for (const std::size_t size : kSizes) {
    for (const bool zeros : {true, false}) {
      std::vector<std::byte> from(size), memory(size + 2 * kBeside, std::byte{7});
      if (!zeros && size > 0) from.back() = std::byte{1};
      load_bytes(memory.data() + kBeside, from);
      const auto begin = memory.begin() + kBeside, end = begin + static_cast<std::ptrdiff_t>(size);
      EXPECT_TRUE(std::equal(from.begin(), from.end(), begin)) << size;
      const auto is_seven = [](std::byte b) { return b == std::byte{7}; };
      EXPECT_TRUE(std::all_of(memory.begin(), begin, is_seven) && std::all_of(end, memory.end(), is_seven)) << size;
      // The pages can be written again.
      std::fill(begin, end, std::byte{9});
      EXPECT_TRUE(std::all_of(begin, end, [](std::byte b) { return b == std::byte{9}; })) << size;
    }
  }
}

}  // namespace
}  // namespace tern
