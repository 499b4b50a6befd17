// Initial values of states: neighbouring bytes stay, even when pages of zeros return to the system.
#include "runtime/devices/cpu/load_bytes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
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

TEST(LoadBytes, ZerosTakeNoMemory) {
  constexpr std::size_t kSize = 1 << 20;
  const std::size_t pages = kSize / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto resident = [&] {
    std::vector<unsigned char> of_pages(pages);
    EXPECT_EQ(::mincore(memory, kSize, of_pages.data()), 0);
    return std::ranges::count_if(of_pages, [](unsigned char p) { return (p & 1) != 0; });
  };
  const std::vector<std::byte> zeros(kSize);
  const bool tells = resident() == 0;  // some emulators report all memory as resident
  std::memset(memory, 7, kSize);
  if (tells) {
    EXPECT_EQ(resident(), static_cast<std::ptrdiff_t>(pages));
    load_bytes(static_cast<std::byte*>(memory), zeros);
    EXPECT_EQ(resident(), 0);
  }
  ::munmap(memory, kSize);
  if (!tells) GTEST_SKIP() << "this system does not tell which memory is there";
}

}  // namespace
}  // namespace tern
