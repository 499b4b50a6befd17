// Archives as files: ways of reading, special files, changing files, and a file of more than 5 GB.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loader/archive.h"
#include "loader/validate.h"
#include "platform/file.h"
#include "platform/folder.h"
#include "platform/memory.h"
#include "platform/path.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

namespace fs = std::filesystem;

class ArchiveFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = platform::path_of(platform::make_temporary_folder("tern-archive-"));
    ASSERT_FALSE(folder_.empty());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name = "a.tern") const { return (folder_ / name).string(); }

  ErrorCode code_of(const std::string& path) const {
    try {
      open_archive(path, {});
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(path), std::string::npos) << e.what();
      return e.code();
    }
    return ErrorCode::internal;
  }

  fs::path folder_;
};

TEST_F(ArchiveFile, EveryWayOfReading) {
  const Program before = sample_program();
  for (auto codec : {WriteOptions::Codec::none, WriteOptions::Codec::zstd}) {
    write_archive(before, path(), {codec, 3, {}});
    EXPECT_TRUE(validate_archive(path()).empty());
    for (Access access : {Access::map, Access::populate, Access::read}) {
      const auto after = open_archive(path(), {access, Verify::first_use});
      EXPECT_EQ(difference(before, *after), "");
      for (std::uint32_t i = 0; i < before.storages.size(); ++i) {
        const auto expected = before.source->bytes(i);
        // Twice: released bytes come back.
        EXPECT_TRUE(std::ranges::equal(after->source->bytes(i), expected));
        after->source->release(i);
        EXPECT_TRUE(std::ranges::equal(after->source->bytes(i), expected));
      }
    }
  }
}

TEST_F(ArchiveFile, TheFileIsWhatTheMemoryIs) {
  const auto report = write_archive(sample_program(), path());
  const std::vector<std::byte> bytes = archive_bytes(sample_program());
  EXPECT_EQ(report.file_size, bytes.size());
  std::ifstream in(path(), std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(in)), {});
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(file)), bytes));
}

TEST_F(ArchiveFile, BorrowedBytesOfAnyAlignment) {
  const std::vector<std::byte> good = archive_bytes(sample_program());
  std::vector<std::byte> shifted(good.size() + 1);
  std::copy(good.begin(), good.end(), shifted.begin() + 1);
  const auto program = open_archive(std::span(shifted).subspan(1), {});
  for (const State& s : program->states) {
    const auto bytes = program->source->bytes(s.storage);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0u);
    EXPECT_EQ(bytes.size(), program->storages[s.storage].size);
  }
}

TEST_F(ArchiveFile, NotAFile) {
  EXPECT_EQ(code_of(path("missing.tern")), ErrorCode::io);
  EXPECT_EQ(code_of(folder_.string()), ErrorCode::io);
  std::ofstream(path("empty")).close();
  EXPECT_EQ(code_of(path("empty")), ErrorCode::bad_file);
  std::ofstream(path("text")) << "This is a text, and long enough to hold a prologue of sixty-four bytes, is it not?";
  EXPECT_EQ(code_of(path("text")), ErrorCode::bad_file);
}

// FIELD 17: changes after opening cannot change checked bytes.
TEST_F(ArchiveFile, ChangesAfterOpening) {
  write_archive(sample_program(), path());
  const auto mapped = open_archive(path(), {Access::map, Verify::first_use});
  const auto copied = open_archive(path(), {Access::read, Verify::first_use});
  const auto size = fs::file_size(path());
  const std::string garbage(size, 'x');
  ASSERT_TRUE(platform::open_to_write(path()).write_at(0, std::as_bytes(std::span(garbage))));
  EXPECT_EQ(difference(sample_program(), *mapped), "");
  EXPECT_THROW(mapped->source->bytes(0), Error);  // found by the hash
  EXPECT_NO_THROW(copied->source->bytes(0));
}

TEST_F(ArchiveFile, AFailedWriteLeavesNothing) {
  class Failing : public VectorSource {
    std::span<const std::byte> bytes(std::uint32_t storage) override {
      if (storage > 2) fail(ErrorCode::io, "the source broke");
      return VectorSource::bytes(storage);
    }
  };
  Program p = sample_program();
  auto failing = std::make_shared<Failing>();
  failing->storages = static_cast<VectorSource&>(*p.source).storages;
  p.source = failing;
  EXPECT_THROW(write_archive(p, path()), Error);
  EXPECT_TRUE(fs::is_empty(folder_));
}

/// Five gigabytes of zeros without memory, with a few marks.
class Zeros : public StorageSource {
 public:
  explicit Zeros(std::uint64_t size) : size_(size) {
    data_ = platform::allocate_pages(size, platform::Backing::on_demand);
    if (data_ == nullptr) fail(ErrorCode::out_of_memory, "no pages for zeros");
  }
  ~Zeros() override { platform::free_pages(data_, size_); }
  std::span<const std::byte> bytes(std::uint32_t storage) override {
    if (storage == 0) return {data_, size_};
    return small_;
  }
  void mark(std::uint64_t at) { data_[at] = std::byte{0x5a}; }

 private:
  std::byte* data_;
  std::uint64_t size_;
  std::vector<std::byte> small_ = std::vector<std::byte>(40, std::byte{7});
};

Program large_program(std::uint64_t size, const std::shared_ptr<Zeros>& source) {
  Program p;
  p.storages = {{size}, {40}};
  State large;
  large.name = "large";
  large.type = {DType::u8, {static_cast<std::int64_t>(size)}};
  large.strides = {1};
  State small;
  small.name = "small";
  small.type = {DType::f32, {10}};
  small.strides = {1};
  small.storage = 1;
  p.states = {large, small};
  p.source = source;
  return p;
}

// FIELD 9 of the wants, 2 of the attacks: offsets beyond 32 bits. On disk the file takes a few blocks.
TEST_F(ArchiveFile, MoreThanFiveGigabytes) {
  constexpr std::uint64_t kSize = (std::uint64_t{5} << 30) + 4097;
  auto source = std::make_shared<Zeros>(kSize);
  for (std::uint64_t at : {std::uint64_t{0}, std::uint64_t{3} << 30, kSize - 1}) source->mark(at);
  write_archive(large_program(kSize, source), path());
  EXPECT_GT(fs::file_size(path()), kSize);
  const auto program = open_archive(path(), {Access::map, Verify::never});
  EXPECT_EQ(program->source->bytes(1)[39], std::byte{7});  // a position beyond 5 GB
  const auto large = program->source->bytes(0);
  ASSERT_EQ(large.size(), kSize);
  for (std::uint64_t at : {std::uint64_t{0}, std::uint64_t{3} << 30, kSize - 1}) EXPECT_EQ(large[at], std::byte{0x5a});
  EXPECT_EQ(large[(std::uint64_t{3} << 30) + 1], std::byte{0});
  EXPECT_EQ(large[kSize - 2], std::byte{0});
  const char* full = std::getenv("TERN_TEST_FULL");
  if (full != nullptr && *full != 0) {
    EXPECT_TRUE(validate_archive(path()).empty());
  }
}

}  // namespace
}  // namespace tern::test
