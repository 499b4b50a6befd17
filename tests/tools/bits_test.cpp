// Hashes of results: distinguished bits, and their files.
#include "tools/conform/bits.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tern {
namespace {

HostTensor floats(const std::vector<std::uint32_t>& bits) {
  HostTensor t{DType::f32, {static_cast<std::int64_t>(bits.size())}, std::vector<std::byte>(4 * bits.size())};
  std::memcpy(t.data.data(), bits.data(), t.data.size());
  return t;
}

TEST(Bits, AllNanAreOneAndZerosAreTwo) {
  constexpr std::uint32_t kOne = 0x3f800000, kNan = 0x7fc00000, kOther = 0xff800001, kZero = 0, kMinusZero = 0x80000000;
  EXPECT_EQ(hash_bits(0, floats({kOne, kNan})), hash_bits(0, floats({kOne, kOther})));
  EXPECT_NE(hash_bits(0, floats({kZero})), hash_bits(0, floats({kMinusZero})));
  EXPECT_NE(hash_bits(0, floats({kOne, kNan})), hash_bits(0, floats({kNan, kOne})));
}

TEST(Bits, DtypeSizesAndOrderCount) {
  HostTensor a = floats({0, 0, 0, 0}), row = a, integers = a;
  row.sizes = {1, 4};
  integers.dtype = DType::i32;
  EXPECT_NE(hash_bits(0, a), hash_bits(0, row));
  EXPECT_NE(hash_bits(0, a), hash_bits(0, integers));
  EXPECT_NE(hash_bits(hash_bits(0, a), row), hash_bits(hash_bits(0, row), a));
}

TEST(Bits, EachPartOfAComplexNumberCounts) {
  HostTensor a = floats({0x7fc00000, 0x3f800000}), b = floats({0x7fc00001, 0x3f800000}), c = floats({0x7fc00000, 0});
  for (HostTensor* t : {&a, &b, &c}) {
    t->dtype = DType::c64;
    t->sizes = {1};
  }
  EXPECT_EQ(hash_bits(0, a), hash_bits(0, b));
  EXPECT_NE(hash_bits(0, a), hash_bits(0, c));
}

ConformResult conform_result(const std::string& op, std::uint64_t bits) {
  ConformResult r;
  r.op = op;
  r.name = op + "/f32_0";
  r.bits = bits;
  return r;
}

TEST(Bits, AFileFindsWhatDiffersAndWhatIsMissing) {
  const std::string path = (std::filesystem::temp_directory_path() / "tern_bits_test.txt").string();
  ConformResult failed = conform_result("pow", 3);
  failed.stage = "run";
  write_bits(path, std::vector{conform_result("add", 1), conform_result("a b", ~std::uint64_t{0}), failed});
  const BitsFile file = read_bits(path);
  std::filesystem::remove(path);
  EXPECT_EQ(file.size(), 2U);
  std::vector again{conform_result("add", 1), conform_result("a b", 2), conform_result("pow", 3)};
  compare_bits(file, again);
  EXPECT_TRUE(again[0].is_passed());
  EXPECT_EQ(again[1].stage, "bits");
  EXPECT_NE(again[1].message.find("ffffffffffffffff"), std::string::npos);
  EXPECT_NE(again[2].message.find("no hash"), std::string::npos);
}

TEST(Bits, RefusesOtherFiles) {
  const std::string path = (std::filesystem::temp_directory_path() / "tern_bits_test_bad.txt").string();
  for (const char* text : {"no hash\n", "0123456789abcdef", "0123456789abcdef\n", "0123 add\n"}) {
    std::ofstream(path) << text;
    EXPECT_THROW((void)read_bits(path), Error) << text;
  }
  std::filesystem::remove(path);
  EXPECT_THROW((void)read_bits(path), Error);
}

}  // namespace
}  // namespace tern
