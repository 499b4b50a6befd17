#include <gtest/gtest.h>

#include <algorithm>

#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

ZipWriter sample_writer() {
  ZipWriter writer;
  for (const auto& item : sample_items()) writer.add(item);
  writer.finish();
  return writer;
}

bool is_in_ranges(const std::vector<Range>& ranges, std::size_t i) {
  return std::any_of(ranges.begin(), ranges.end(), [i](const Range& r) { return r.begin <= i && i < r.end; });
}

TEST(Pt2ZipAttack, RefusesEveryTruncation) {
  const std::string bytes = sample_writer().bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(open_error(bytes.substr(0, size)), "") << "cut at " << size;
}

TEST(Pt2ZipAttack, RefusesEveryChangeOfAHeader) {
  const ZipWriter writer = sample_writer();
  const std::string good = writer.bytes();
  std::size_t changed = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (is_in_ranges(writer.payloads, i) || is_in_ranges(writer.ignored, i)) continue;
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bits);
      EXPECT_NE(error_of([&] { open_text(bad); }), "")
          << "byte " << i << " of " << good.size() << " changed by " << bits;
    }
    ++changed;
  }
  EXPECT_GT(changed, 1000u);
}

TEST(Pt2ZipAttack, SurvivesEveryChangeOfAnything) {
  const std::string good = sample_writer().bytes();
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int bits : {0x01, 0x20, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bits);
      // Accepted or refused: anything but an Error ends the test.
      error_of([&] { parse_program(open_text(bad)); });
    }
}

TEST(Pt2ZipAttack, RefusesBadEntries) {
  struct Case {
    const char* description;
    void (*spoil)(std::vector<ZipItem>&);
    const char* message;
  };
  using Items = std::vector<ZipItem>;
  const Case cases[] = {
      {"compressed", [](Items& items) { items[0].method = 8; }, "is compressed (method 8)"},
      {"encrypted", [](Items& items) { items[0].flags = 1; }, "is encrypted"},
      {"unknown flag", [](Items& items) { items[0].flags = 1 << 13; }, "unknown flags 0x2808"},
      {"duplicate", [](Items& items) { items.push_back(items[0]); }, "occurs twice"},
      {"comment", [](Items& items) { items[0].comment = "hello"; }, "has a comment"},
      {"NUL in a name", [](Items& items) { items[4].name = std::string("sample/a\0b", 10); },
       "sample/a\\x00b' is not valid UTF-8"},
      {"invalid UTF-8", [](Items& items) { items[4].name = "sample/\xc0\xaf"; }, "is not valid UTF-8"},
      {"surrogate", [](Items& items) { items[4].name = "sample/\xed\xa0\x80"; }, "is not valid UTF-8"},
      {"long name", [](Items& items) { items[4].name = "sample/" + std::string(5000, 'x'); }, "1 to 4096 are allowed"},
      {"empty name", [](Items& items) { items[4].name = ""; }, "1 to 4096 are allowed"},
      {"second root", [](Items& items) { items[4].name = "elsewhere/x"; }, "not under the root folder 'sample'"},
      {"no table of weights", [](Items& items) { items[1].name = "sample/x"; }, "no table of its weights"},
  };
  for (const auto& c : cases) {
    auto items = sample_items();
    c.spoil(items);
    const std::string error = open_error(write_zip(items));
    EXPECT_NE(error.find(c.message), std::string::npos) << c.description << ": " << error;
    EXPECT_NE(error.find("sample.pt2: "), std::string::npos) << error;
  }
}

TEST(Pt2ZipAttack, RefusesBytesThatBelongToNothing) {
  ZipWriter writer;
  writer.gap = "hidden";
  for (const auto& item : sample_items()) writer.add(item);
  writer.finish();
  EXPECT_NE(open_error(writer.bytes()).find("bytes between the last entry and the zip directory"), std::string::npos);
  const std::string good = sample_writer().bytes();
  EXPECT_NE(open_error(good + "x").find("bytes after its end"), std::string::npos);
  EXPECT_NE(open_error("#!/bin/sh\n" + good), "");
}

// Two directory records with the same local header, as in the "better zip bomb" of Fifield (2019).
TEST(Pt2ZipAttack, RefusesOverlaps) {
  const ZipWriter writer = sample_writer();
  std::string bytes = writer.bytes();
  const auto directory = bytes.find("PK\x01\x02");
  const auto second = bytes.find("PK\x01\x02", directory + 4);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(directory) + 42, 4,
              bytes.begin() + static_cast<std::ptrdiff_t>(second) + 42);
  EXPECT_NE(open_error(bytes).find("its name differs from the directory's"), std::string::npos);

  // An entry whose data holds another whole entry.
  const std::string inner = write_zip({{"sample/byteorder", "little"}});
  auto items = sample_items();
  items[0].data.assign(inner, 0, inner.find("PK\x01\x02"));
  bytes = write_zip(items);
  const std::uint32_t hidden = static_cast<std::uint32_t>(bytes.find(inner.substr(0, 40)));
  const auto last = bytes.rfind("PK\x01\x02");
  for (int i = 0; i < 4; ++i) bytes[last + 42 + static_cast<std::size_t>(i)] = static_cast<char>(hidden >> (8 * i));
  const std::string error = open_error(bytes);
  EXPECT_NE(error.find("overlaps the entry before it"), std::string::npos) << error;
}

// The reader compares counts with the file's size before allocating.
TEST(Pt2ZipAttack, RefusesAbsurdCounts) {
  for (const std::uint64_t count :
       {std::uint64_t{1} << 60, ~std::uint64_t{0}, std::uint64_t{1'000'001}, std::uint64_t{100}}) {
    std::string bytes = sample_writer().bytes();
    const auto end64 = bytes.rfind("PK\x06\x06");
    const auto end = bytes.rfind("PK\x05\x06");
    for (std::size_t i = 0; i < 8; ++i)
      bytes[end64 + 24 + i] = bytes[end64 + 32 + i] = static_cast<char>(count >> (8 * i));
    for (std::size_t i = 8; i < 12; ++i) bytes[end + i] = '\xff';
    EXPECT_NE(open_error(bytes).find("entries exceed the capacity of the directory"), std::string::npos) << count;
  }
}

TEST(Pt2ZipAttack, RefusesWrappingOffsets) {
  for (const std::uint64_t value : {~std::uint64_t{0}, ~std::uint64_t{63}, std::uint64_t{1} << 63, std::uint64_t{0}}) {
    for (const std::size_t position : {40, 48}) {  // size and offset of the directory
      std::string bytes = sample_writer().bytes();
      const auto end64 = bytes.rfind("PK\x06\x06");
      const auto end = bytes.rfind("PK\x05\x06");
      for (std::size_t i = 0; i < 8; ++i) bytes[end64 + position + i] = static_cast<char>(value >> (8 * i));
      for (std::size_t i = 12; i < 20; ++i) bytes[end + i] = '\xff';
      EXPECT_NE(open_error(bytes), "") << value << " at " << position;
    }
  }
}

TEST(Pt2ZipAttack, RefusesWhatIsNoZip) {
  EXPECT_NE(open_error("").find("the file is empty"), std::string::npos);
  EXPECT_NE(open_error(std::string(100, '\0')).find("not a zip archive"), std::string::npos);
  EXPECT_NE(open_error("PK\3\4" + std::string(100, 'x')).find("cut short"), std::string::npos);
}

}  // namespace
}  // namespace tern::pt2::test
