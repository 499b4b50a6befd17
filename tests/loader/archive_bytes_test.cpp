// Archives cut, flipped and rewritten at every position: each is refused, or a valid program.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <cstdlib>
#include <cstring>

#include "loader/archive.h"
#include "loader/format.h"
#include "loader/prologue.h"
#include "loader/validate.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

bool full_run() {
  const char* value = std::getenv("TERN_TEST_FULL");
  return value != nullptr && *value != 0;
}

WriteOptions zstd() {
  return {WriteOptions::Codec::zstd, 3, {}};
}

/// A sample whose first weight is large enough for compression.
Program compressible() {
  Program p = sample_program();
  auto& source = static_cast<VectorSource&>(*p.source);
  p.storages[0].size = 4096;
  source.storages[0].assign(4096, std::byte{3});
  return p;
}

TEST(ArchiveEveryByte, Cut) {
  for (const auto& whole : {archive_bytes(sample_program()), archive_bytes(compressible(), zstd())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto cut = std::span(whole).first(size);
      EXPECT_NE(open_error(cut, Verify::never), "") << size;
      EXPECT_FALSE(validate_archive(cut).empty()) << size;
    }
  }
}

TEST(ArchiveEveryByte, FlippedIsNoticed) {
  for (auto bytes : {archive_bytes(sample_program()), archive_bytes(compressible(), zstd())}) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] ^= std::byte{0x10};
      EXPECT_NE(open_error(bytes), "") << "byte " << i;
      bytes[i] ^= std::byte{0x10};
    }
    EXPECT_EQ(open_error(bytes), "");
  }
}

/// Opens bytes with correct hashes: either an Error, or a program with readable weights.
void survive(std::span<const std::byte> bytes) {
  const auto findings = validate_archive(bytes);
  try {
    const auto program = open_archive(bytes, {Access::map, Verify::never});
    std::size_t sum = 0;
    for (const State& s : program->states) sum += program->source->bytes(s.storage).size();
    EXPECT_LT(sum, std::size_t{1} << 30);
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
    EXPECT_FALSE(findings.empty()) << e.what();
  }
}

TEST(ArchiveEveryByte, FlippedWithHashesRight) {
  std::vector<std::byte> bytes = archive_bytes(sample_program());
  const std::size_t step = full_run() ? 1 : 3;
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    if (i >= PrologueField::hash && i < PrologueField::reserved_end) continue;
    for (const std::byte flip : {std::byte{1}, std::byte{0x80}, std::byte{0xff}}) {
      bytes[i] ^= flip;
      rehash(bytes);
      survive(bytes);
      bytes[i] ^= flip;
    }
  }
}

TEST(ArchiveEveryByte, WordsReplaced) {
  const std::vector<std::byte> good = archive_bytes(sample_program());
  std::uint64_t index = 0;
  std::memcpy(&index, good.data() + PrologueField::index_offset, 8);
  const std::size_t step = full_run() ? 4 : 16;
  for (std::size_t i = index; i + 4 <= good.size(); i += step) {
    std::uint32_t old = 0;
    std::memcpy(&old, good.data() + i, 4);
    // An offset increased by 4 leads to misaligned elements of 8 bytes.
    for (const std::uint32_t word : {0u, 1u, old + 4, old - 4, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu}) {
      std::vector<std::byte> bytes = good;
      std::memcpy(bytes.data() + i, &word, 4);
      rehash(bytes);
      survive(bytes);
    }
  }
}

}  // namespace
}  // namespace tern::test
