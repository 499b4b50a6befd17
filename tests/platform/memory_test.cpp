// Pages and mapped files.
#include "platform/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/platform/temporary_folder.h"

namespace tern::platform {
namespace {

bool is_zero(const std::byte* bytes, std::size_t size) {
  return std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; });
}

TEST(Memory, PagesAreZeroAtFirstAndOnceCleared) {
  const std::size_t page = page_size(), size = 16 * page;
  ASSERT_GE(page, 4096u);
  for (const Backing backing : {Backing::reserved, Backing::on_demand}) {
    std::byte* const pages = allocate_pages(size, backing);
    ASSERT_NE(pages, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages) % page, 0u);
    EXPECT_TRUE(is_zero(pages, size));
    prefer_large_pages(pages, size);
    std::memset(pages, 1, size);
    clear_pages(pages + page, size - 2 * page);
    EXPECT_TRUE(is_zero(pages + page, size - 2 * page));
    EXPECT_EQ(pages[0], std::byte{1});
    EXPECT_EQ(pages[size - 1], std::byte{1});
    free_pages(pages, size);
  }
}

TEST(Memory, AlignedBlocksClearOrStay) {
  const std::size_t page = page_size(), size = 16 * page;
  auto* const block = static_cast<std::byte*>(allocate_aligned(page, size));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % page, 0u);
  std::memset(block, 1, size);
  const bool cleared = clear_aligned(block, size);
  EXPECT_EQ(block[page], cleared ? std::byte{0} : std::byte{1});
  free_aligned(block);
}

TEST(Memory, TooMuchIsRefused) {
  EXPECT_EQ(allocate_pages(std::size_t{1} << 60), nullptr);
}

TEST(MappedFiles, OutliveTheirNames) {
  const TestFolder there;
  std::string text(3 * page_size() + 5, 'x');
  text.back() = 'y';
  write_text(there.path("a"), text);
  for (const bool load : {false, true}) {
    File file = open_to_read(there.path("a"));
    const std::byte* const bytes = map_file(file, text.size(), load);
    ASSERT_NE(bytes, nullptr);
    file.close();
    release_mapped(bytes + 10, text.size() - 10);
    EXPECT_EQ(std::memcmp(bytes, text.data(), text.size()), 0);
    write_text(there.path("b"), text);
    EXPECT_TRUE(replace_file(there.path("b"), there.path("a")));
    EXPECT_EQ(std::memcmp(bytes, text.data(), text.size()), 0);
    EXPECT_EQ(read_text(there.path("a")), text);
    unmap_file(bytes, text.size());
  }
  write_text(there.path("b"), text);
  EXPECT_TRUE(replace_file(there.path("b"), there.path("a")));  // also removes replaced files
  EXPECT_EQ(Folder(there.path()).names(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace tern::platform
