// Attached files of an archive: rules, contents, damage.
#include <gtest/gtest.h>

#include "exporter/attach_file.h"
#include "loader/utf8.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

using Rules = std::vector<std::string>;

std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

/// Broken rules if the sample's tokenizer.json has these bytes.
Rules rules_with_text(std::string_view text) {
  Program p = sample_program();
  const std::uint32_t storage = p.files[0].storage;
  p.storages[storage].size = text.size();
  static_cast<VectorSource&>(*p.source).storages[storage] = bytes_of_text(text);
  return rules_broken(archive_bytes(p));
}

TEST(ArchiveFiles, AreReadBack) {
  const std::vector<std::byte> bytes = archive_bytes(sample_program());
  const Model model = Model::from_bytes(bytes);
  ASSERT_EQ(model.files().size(), 3u);
  EXPECT_EQ(model.files()[0].name, "tokenizer.json");
  EXPECT_EQ(model.files()[0].size, 32u);
  EXPECT_EQ(model.file("tokenizer.json"), "{\"version\": \"1.0\", \"größe\": 1}");
  EXPECT_EQ(model.file("tokenizer.model").size(), 3000u);
  EXPECT_EQ(model.file("empty.txt"), "");
  EXPECT_THROW(model.file("chat_template.jinja"), Error);
}

TEST(ArchiveFiles, AreCompressed) {
  Program p = sample_program();
  attach_file(p, "long.txt", bytes_of_text(std::string(1 << 20, 'x')));
  const std::vector<std::byte> bytes = archive_bytes(p);
  EXPECT_LT(bytes.size(), 1u << 16);
  EXPECT_EQ(Model::from_bytes(bytes).file("long.txt"), std::string(1 << 20, 'x'));
  EXPECT_EQ(rules_broken(bytes), Rules{});
}

// A model from bytes reads them later.
template <typename Bytes>
concept ModelOpens = requires(Bytes&& bytes) {
  Model::from_bytes(std::forward<Bytes>(bytes));
};
static_assert(ModelOpens<const std::vector<std::byte>&> && ModelOpens<std::span<const std::byte>>);
static_assert(!ModelOpens<std::vector<std::byte>>, "temporary bytes");

TEST(ArchiveFiles, AttachingReplacesAFileOfTheSameName) {
  Program p = sample_program();
  attach_file(p, "tokenizer.json", bytes_of_text("{}"));
  EXPECT_EQ(p.files.size(), 3u);
  const std::vector<std::byte> bytes = archive_bytes(p);
  EXPECT_EQ(Model::from_bytes(bytes).file("tokenizer.json"), "{}");
}

TEST(ArchiveFiles, AttachingChecksNamesAndTexts) {
  Program p = sample_program();
  EXPECT_THROW(attach_file(p, "../x.json", {}), Error);
  EXPECT_THROW(attach_file(p, "x.json", bytes_of_text("\xff")), Error);
  attach_file(p, "x.bin", bytes_of_text("\xff"));
  for (int i = 0; i < 60; ++i) attach_file(p, "file" + std::to_string(i), {});
  EXPECT_THROW(attach_file(p, "one_more", {}), Error);
}

TEST(ArchiveFiles, Names) {
  for (const char* name : {"", ".hidden", "a/b", "a b", "größe", "a\n", "..", "C:a"}) {
    EXPECT_EQ(rules_broken(changed([&](Program& p) { p.files[0].name = name; })), Rules{"files.name"}) << name;
  }
  EXPECT_EQ(rules_broken(changed([](Program& p) { p.files[0].name = std::string(256, 'a'); })), Rules{"files.name"});
  EXPECT_EQ(rules_broken(changed([](Program& p) { p.files[0].name = std::string(255, 'a'); })), Rules{});
  EXPECT_EQ(rules_broken(changed([](Program& p) { p.files[1].name = "tokenizer.json"; })), Rules{"files.once"});
}

TEST(ArchiveFiles, Counts) {
  EXPECT_EQ(rules_broken(changed([](Program& p) {
              for (int i = 0; i < 62; ++i) p.files.push_back({"f" + std::to_string(i), p.files[0].storage});
            })),
            Rules{"files.count"});
}

TEST(ArchiveFiles, TextsAreUtf8) {
  EXPECT_EQ(rules_with_text("größe"), Rules{});
  for (const std::string_view text : {std::string_view("a\0b", 3), std::string_view("\xc3"), std::string_view("\xff"),
                                      std::string_view("\xed\xa0\x80"), std::string_view("\xc0\x80")}) {
    EXPECT_EQ(rules_with_text(text), Rules{"files.text"}) << text;
    Program p = sample_program();
    const std::uint32_t storage = p.files[0].storage;
    p.storages[storage].size = text.size();
    static_cast<VectorSource&>(*p.source).storages[storage] = bytes_of_text(text);
    const std::vector<std::byte> bytes = archive_bytes(p);
    EXPECT_THROW(Model::from_bytes(bytes).file("tokenizer.json"), Error);
  }
}

TEST(ArchiveFiles, DamagedBytesAreFound) {
  std::vector<std::byte> bytes = archive_bytes(sample_program());
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = all.find("\"version\"");
  ASSERT_NE(at, std::string_view::npos);
  bytes[at] = std::byte{'_'};
  EXPECT_EQ(rules_broken(bytes), Rules{"segments.hash"});
  EXPECT_THROW(Model::from_bytes(bytes).file("tokenizer.json"), Error);
  EXPECT_EQ(Model::from_bytes(bytes).file("tokenizer.model").size(), 3000u);
}

TEST(TextCheckerTest, FindsWhatTheCheckOfAWholeTextFinds) {
  const std::string texts[] = {"aé€😀z", "\xf0\x9f\x98\x80", "\xe2\x82", "a\xc3",
                               "\x80",  "\xc3\xc3\xa9",     "é\x80",    "\xf5\x80\x80\x80"};
  for (const std::string& text : texts) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      TextChecker checker;
      for (std::size_t at = 0; at < text.size(); at += size) checker.add(std::string_view(text).substr(at, size));
      EXPECT_EQ(checker.finish(), is_valid_text(text)) << text << " in parts of " << size;
    }
  }
}

}  // namespace
}  // namespace tern::test
