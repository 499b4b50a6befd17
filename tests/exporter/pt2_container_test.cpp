#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "exporter/pt2/container.h"
#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file deleted with the test.
struct TemporaryFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("tern_pt2_test_" + std::to_string(::getpid()))).string();
  ~TemporaryFile() { std::filesystem::remove(path); }
};

TEST(Pt2Container, GivesEntriesAsViewsOfTheBytes) {
  const auto items = sample_items();
  const std::string bytes = write_zip(items);
  const Container container = open_text(bytes);
  EXPECT_EQ(container.root(), "sample");
  EXPECT_EQ(container.models(), std::vector<std::string>{"model"});
  ASSERT_EQ(container.entries().size(), items.size());
  for (const auto& item : items) {
    const ContainerEntry* entry = container.find(item.name);
    ASSERT_NE(entry, nullptr) << item.name;
    EXPECT_EQ(entry->offset % 64, 0u);
    EXPECT_EQ(text_of(container.data(*entry)), item.data);
    EXPECT_EQ(text_of(container.data(item.name)), item.data);
    EXPECT_EQ(reinterpret_cast<const char*>(container.data(*entry).data()), bytes.data() + entry->offset);
  }
  EXPECT_NE(container.find_under_root("data/weights/weight_0"), nullptr);
  EXPECT_EQ(container.find("sample/nothing"), nullptr);
  EXPECT_THROW(container.data("sample/nothing"), Error);
}

TEST(Pt2Container, AcceptsOtherLawfulLayouts) {
  for (const bool descriptor : {false, true})
    for (const bool zip64 : {false, true})
      for (const bool zip64_end : {false, true}) {
        ZipWriter writer;
        writer.zip64_end = zip64_end;
        writer.align = !zip64;
        for (ZipItem item : sample_items()) {
          item.descriptor = descriptor;
          item.zip64 = zip64;
          writer.add(item);
        }
        writer.finish();
        EXPECT_EQ(open_error(writer.bytes()), "") << descriptor << zip64 << zip64_end;
      }
}

TEST(Pt2Container, MapsAFileAndOutlivesIt) {
  TemporaryFile file;
  const std::string bytes = write_zip(sample_items());
  std::ofstream(file.path, std::ios::binary) << bytes;
  const Container copy = [&] { return Container(Container::open(file.path)); }();
  std::filesystem::remove(file.path);
  EXPECT_EQ(text_of(copy.bytes()), bytes);
}

TEST(Pt2Container, ReadsEntriesBeyondFourGigabytes) {
  TemporaryFile file;
  constexpr std::uint64_t kHole = (std::uint64_t{1} << 32) + 4096;
  auto items = sample_items();
  items[0].hole = kHole;
  items[0].zip64 = true;
  ZipWriter writer;
  for (const auto& item : items) writer.add(item);
  writer.finish();
  writer.save(file.path);
  const Container container = Container::open(file.path);
  EXPECT_EQ(container.find_under_root("data/weights/weight_0")->size, kHole + items[0].data.size());
  EXPECT_GT(container.find_under_root("byteorder")->offset, kHole);
  EXPECT_EQ(text_of(container.data("sample/byteorder")), "little");
}

TEST(Pt2Container, RefusesWhatIsNoRegularFile) {
  EXPECT_NE(error_of([] { Container::open("/nonexistent/file.pt2"); }, ErrorCode::io).find("/nonexistent/file.pt2"),
            std::string::npos);
  EXPECT_NE(error_of([] { Container::open("/"); }, ErrorCode::io).find("not a regular file"), std::string::npos);
}

TEST(Pt2Container, ChecksCrcOnRequest) {
  ZipWriter writer;
  for (const auto& item : sample_items()) writer.add(item);
  writer.finish();
  std::string bytes = writer.bytes();
  open_text(bytes).verify_all_crcs();
  bytes[writer.payloads[0].begin] ^= 1;
  const Container container = open_text(bytes);
  EXPECT_NE(error_of([&] { container.verify_all_crcs(); }).find("weight_0"), std::string::npos);
}

TEST(Pt2Container, HoldsSeveralPrograms) {
  auto items = sample_items();
  for (ZipItem item : sample_items()) {
    for (auto it = item.name.find("model"); it != std::string::npos; it = item.name.find("model", it + 6))
      if (item.name.compare(it, 7, "models/") != 0) item.name.replace(it, 5, "decode");
    if (item.name.find("decode") != std::string::npos) items.push_back(item);
  }
  const std::string bytes = write_zip(items);
  const Container container = open_text(bytes);
  EXPECT_EQ(container.models(), (std::vector<std::string>{"model", "decode"}));
  EXPECT_EQ(parse_program(container, "decode").model, "decode");
  EXPECT_NE(error_of([&] { parse_program(container); }, ErrorCode::invalid_argument).find("'model', 'decode'"),
            std::string::npos);
  EXPECT_NE(error_of([&] { parse_program(container, "other"); }, ErrorCode::invalid_argument).find("'other'"),
            std::string::npos);
}

TEST(Pt2Container, NamesOtherKindsOfArchives) {
  struct Case {
    std::vector<std::string> names;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {{"serialized_exported_program.json", "serialized_state_dict.pt", "version"},
       ErrorCode::unsupported,
       "PyTorch 2.7 or older"},
      {{"m/models/model.json", "m/data/weights/model.pt", "m/archive_format"}, ErrorCode::unsupported, "PyTorch 2.8"},
      {{"m/data.pkl", "m/code/__torch__/m.py", "m/constants.pkl"}, ErrorCode::unsupported, "TorchScript"},
      {{"m/data.pkl", "m/data/0", "m/version"}, ErrorCode::unsupported, "torch.save"},
      {{"m/data/aotinductor/model/m.so", "m/archive_format"}, ErrorCode::unsupported, "AOTInductor"},
      {{"docs/readme.txt"}, ErrorCode::bad_file, "models/*.json"},
      {{"readme.txt"}, ErrorCode::bad_file, "not in a folder"},
      {{}, ErrorCode::bad_file, "no entries"},
  };
  for (const auto& c : cases) {
    std::vector<ZipItem> items;
    // TorchScript compresses some entries: the reader names the kind of file before the compression.
    for (const auto& name : c.names) items.push_back({.name = name, .data = "x", .method = 8});
    const std::string error = open_error(write_zip(items), c.code);
    EXPECT_NE(error.find(c.message), std::string::npos) << error;
    EXPECT_EQ(error.find("(code"), std::string::npos) << error;
    EXPECT_NE(error.find(c.code == ErrorCode::unsupported ? "torch.export.save" : ""), std::string::npos) << error;
  }
}

TEST(Pt2Container, RefusesOtherVersionsAndByteOrders) {
  struct Case {
    const char* name;
    const char* value;
    const char* message;
  };
  const Case cases[] = {{"sample/archive_version", "1", "only version 0"},
                        {"sample/archive_version", "", "only version 0"},
                        {"sample/byteorder", "big", "little-endian"},
                        {"sample/archive_format", "pt3", "archive_format"},
                        {"sample/archive_format", "pt2\n", "\\x0a"}};
  for (const auto& c : cases) {
    auto items = sample_items();
    for (auto& item : items)
      if (item.name == c.name) item.data = c.value;
    EXPECT_NE(open_error(write_zip(items), ErrorCode::unsupported).find(c.message), std::string::npos) << c.message;
  }
  for (std::size_t i = 5; i < 9; ++i) {
    auto items = sample_items();
    const std::string name = items[i].name;
    if (name == "sample/.data/version") continue;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(open_error(write_zip(items)).find("is missing"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tern::pt2::test
