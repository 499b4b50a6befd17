// The reader of GGUF's header: what it reads, and what it refuses at which byte.
#include "exporter/gguf/file.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include "exporter/gguf/metadata.h"
#include "tests/exporter/gguf/sample.h"

namespace tern::gguf {
namespace {

using testing::FileWriter;

FileWriter small_file() {
  FileWriter w;
  w.begin(1, 3).entry("general.architecture", "llama").entry("llama.block_count", 2);
  w.entry("words", ValueType::array).u32(static_cast<std::uint32_t>(ValueType::text)).u64(2).text("a").text("tern");
  w.tensor("m", {32, 3}, 2, 0).data(3 * 18);
  return w;
}

std::string refused(const std::vector<std::byte>& bytes) {
  try {
    const File file = File::borrow(bytes);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(GgufFile, ReadsMetadataAndTensors) {
  const FileWriter w = small_file();
  const File file = File::borrow(w.bytes());
  EXPECT_EQ(file.version(), 3U);
  ASSERT_EQ(file.tensors().size(), 1U);
  const TensorRecord* m = file.tensor("m");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->sizes, (std::vector<std::int64_t>{3, 32})) << "the outermost first";
  EXPECT_EQ(m->bytes.size(), 54U);
  EXPECT_EQ(m->offset + 54, w.size());
  const Metadata metadata(file);
  EXPECT_EQ(metadata.architecture(), "llama");
  EXPECT_EQ(metadata.integer(".block_count", 1, 5), 2);
  EXPECT_EQ(metadata.texts("words"), (std::vector<std::string_view>{"a", "tern"}));
  EXPECT_FALSE(metadata.number("absent"));
}

TEST(GgufFile, RefusesEveryTruncation) {
  const std::vector<std::byte> bytes = small_file().bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refused(part).find("at byte"), std::string::npos) << size;
  }
}

TEST(GgufFile, NamesTheByte) {
  const auto message = [](auto fill) {
    FileWriter w;
    fill(w);
    return refused(w.bytes());
  };
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 0, 1); }), "at byte 4: version 1"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 0, 0x03000000); }), "big-endian"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 0, 9); }), "version 9"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(UINT64_MAX, 0); }), "at byte 8: the number of tensors"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, UINT64_MAX); }), "at byte 16: the number of metadata"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 1).u64(UINT64_MAX).u64(0); }), "at byte 24"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 1).entry("k", ValueType{99}).u64(0); }), "type 99"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 1).entry("k", ValueType::array).u32(9).u64(1); }),
                       "array of arrays"));
  EXPECT_TRUE(
      contains(message([](FileWriter& w) { w.begin(0, 1).entry("k", ValueType::array).u32(4).u64(1ULL << 62); }),
               "does not fit"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 2).entry("k", 1).entry("k", 2); }), "occurs twice"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(0, 1).entry("k", ValueType::boolean).number('\2').u64(0); }),
                       "neither true nor false"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(1, 0).tensor("t", {}, 0, 0).data(64); }), "0 axes"));
  EXPECT_TRUE(contains(message([](FileWriter& w) {
                         w.begin(1, 0).tensor("t", {1, 1, 1, 1, 1}, 0, 0).data(64);
                       }),
                       "5 axes"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(1, 0).tensor("t", {0}, 0, 0).data(64); }), "the size 0"));
  EXPECT_TRUE(contains(message([](FileWriter& w) {
                         w.begin(1, 0).tensor("t", {1ULL << 40, 1ULL << 40}, 0, 0).data(64);
                       }),
                       "too many elements"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(1, 0).tensor("t", {33}, 2, 0).data(64); }), "blocks of 32"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(1, 0).tensor("t", {256}, 10, 0).data(640); }), "Q2_K"));
  EXPECT_TRUE(contains(message([](FileWriter& w) { w.begin(1, 0).tensor("t", {4}, 0, 8).data(64); }), "alignment"));
  EXPECT_TRUE(
      contains(message([](FileWriter& w) { w.begin(1, 0).tensor("t", {4}, 0, 64).data(64); }), "behind the end"));
  EXPECT_TRUE(contains(
      message([](FileWriter& w) { w.begin(2, 0).tensor("t", {4}, 0, 0).tensor("t", {4}, 0, 0).data(64); }), "twice"));
  EXPECT_TRUE(contains(
      message([](FileWriter& w) { w.begin(1, 1).entry("general.alignment", 48).tensor("t", {4}, 0, 0).data(640); }),
      "no power of two"));
}

TEST(GgufMetadata, RefusesOtherTypesAndRanges) {
  FileWriter w;
  w.begin(0, 4).entry("general.architecture", "llama").entry("llama.block_count", 7).entry("name", "x");
  w.entry("list", ValueType::array).u32(static_cast<std::uint32_t>(ValueType::i32)).u64(2).u32(1).u32(2);
  const File file = File::borrow(w.bytes());
  const Metadata m(file);
  EXPECT_THROW(m.integer(".block_count", 1, 5), Error);
  EXPECT_THROW(m.integer("name", 0, 5), Error);
  EXPECT_THROW(m.text(".block_count"), Error);
  EXPECT_THROW(m.boolean(".block_count"), Error);
  EXPECT_THROW(m.texts("list"), Error);
  EXPECT_THROW(m.each_layer("list", 3, 0, 9), Error);
  EXPECT_EQ(m.each_layer("list", 2, 0, 9), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(m.each_layer(".block_count", 2, 0, 9), (std::vector<std::int64_t>{7, 7}));
  EXPECT_THROW(m.required_integer("absent", 0, 9), Error);
}

}  // namespace
}  // namespace tern::gguf
