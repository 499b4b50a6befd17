// Event files of TensorBoard: checksums of RFC 3720, and records of complete bytes.
#include "tools/train/event_file.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/tools/support.h"

namespace tern::train {
namespace {

TEST(EventFile, HasTheChecksumsOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);  // B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

/// The bytes of each record, after checks of their checksums.
std::vector<std::string> records_of(const std::string& folder) {
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    std::memcpy(&crc, bytes.data() + at + 8, sizeof crc);
    EXPECT_EQ(crc, masked_crc32c(std::string_view(bytes).substr(at, 8)));
    records.push_back(bytes.substr(at + 12, length));
    std::memcpy(&crc, bytes.data() + at + 12 + length, sizeof crc);
    EXPECT_EQ(crc, masked_crc32c(records.back()));
    at += 16 + length;
  }
  return records;
}

TEST(EventFile, HasARecordForEachEvent) {
  const test::TempFolder folder;
  const std::string path = folder / "events";
  {
    EventFile file(path, 300);
    const std::vector<EventFile::Scalar> scalars = {{"loss", 0.5}};
    file.add(301, scalars);
    file.flush();
  }
  const std::vector<std::string> records = records_of(path);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
  // Step 301 is 0xad 0x02 as a varint; a start drops steps from 301 on.
  const std::string step = "\x10\xad\x02";
  EXPECT_EQ(records[1].substr(9), step + "\x3a\x02\x08\x01");
  EXPECT_EQ(records[2].substr(9), step + "\x2a\x0d\x0a\x0b\x0a\x04loss\x15" + std::string("\x00\x00\x00\x3f", 4));
}

TEST(EventFile, NeedsAFolder) {
  const test::TempFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(EventFile(folder / "file", 0), Error);
}

}  // namespace
}  // namespace tern::train
