// .npz files: written by NumPy, and hostile files; and the choice of a format by file name.
#include <gtest/gtest.h>

#include "tests/tools/support.h"
#include "tools/files/any.h"
#include "tools/files/npz.h"

namespace tern {
namespace {

using namespace test;

NamedTensors parse_files_npz(const std::string& bytes) {
  return read_npz(std::as_bytes(std::span(bytes)), "memory");
}

/// Sets the 32-bit field `offset` bytes into the entry's local header; the field in the central header is two bytes
/// further.
std::string set_zip_field(std::string bytes, const std::string& entry, std::size_t offset, std::uint32_t value) {
  constexpr std::size_t kLocalName = 30;
  constexpr std::size_t kCentralName = 46;
  const std::size_t local = bytes.find(entry) - kLocalName;
  const std::size_t central = bytes.rfind(entry) - kCentralName;
  std::memcpy(bytes.data() + local + offset, &value, 4);
  std::memcpy(bytes.data() + central + offset + 2, &value, 4);
  return bytes;
}
constexpr std::size_t kUncompressedSize = 22;

TEST(Npz, ReadsWhatNumPyWrote) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const NamedTensors file = read_npz(data_file(name));
    const std::vector<std::pair<const char*, DType>> kTypes = {
        {"bool", DType::boolean}, {"u1", DType::u8},  {"i1", DType::i8},  {"i2", DType::i16},  {"i4", DType::i32},
        {"i8", DType::i64},       {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64},  {"f2", DType::f16},
        {"f4", DType::f32},       {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128}};
    for (const auto& [entry, dtype] : kTypes) {
      ASSERT_NE(file.find(entry), nullptr) << entry;
      expect_same(*file.find(entry), counting(dtype), entry);
    }
    expect_same(*file.find("scalar"), tensor_of<float>(DType::f32, {}, {1.5f}), "scalar");
    expect_same(*file.find("empty"), tensor_of<float>(DType::f32, {0, 4}, {}), "empty");
  }
  const NamedTensors deflated = read_npz(data_file("deflated.npz"));
  expect_same(*deflated.find("zeros"), tensor_of(DType::i32, {2000}, std::vector<int>(2000, 0)), "zeros");
}

TEST(Npz, KeepsWhatItWrote) {
  const TempFolder folder;
  const NamedTensors file = read_npz(data_file("stored.npz"));
  write_npz(folder / "a.npz", file);
  write_npz(folder / "b.npz", file);
  const NamedTensors back = read_npz(folder / "a.npz");
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].first, file.tensors[i].first);
    expect_same(back.tensors[i].second, file.tensors[i].second, file.tensors[i].first);
  }
  EXPECT_EQ(file_bytes(folder / "a.npz"), file_bytes(folder / "b.npz"));
  EXPECT_EQ(folder.files(), 2u);

  write_npz(folder / "a.npz", {});  // replaces the existing file
  EXPECT_TRUE(read_npz(folder / "a.npz").tensors.empty());
}

TEST(Npz, RefusesEveryTruncation) {
  const std::string bytes = file_bytes(data_file("deflated.npz"));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    ASSERT_NE(error_of([&] { parse_files_npz(bytes.substr(0, n)); }, ErrorCode::bad_file), "no error")
        << "cut at " << n;
  }
}

TEST(Npz, SurvivesEveryChangedByte) {
  const std::string bytes = file_bytes(data_file("deflated.npz"));
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(~changed[i]);
    if (error_of([&] { parse_files_npz(changed); }) != "no error") ++refused;
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size() / 2));
}

TEST(Npz, NoticesDamagedData) {
  std::string bytes = file_bytes(data_file("stored.npz"));
  bytes[bytes.find("f8.npy") + 6 + 20 + 128 + 3] ^= 1;  // past the name, the extra field and the array's header
  const std::string error = error_of([&] { parse_files_npz(bytes); }, ErrorCode::bad_file);
  EXPECT_NE(error.find("\"f8.npy\": "), std::string::npos) << error;
  EXPECT_NE(error.find("CRC"), std::string::npos) << error;
}

TEST(Npz, RefusesBombs) {
  const std::string bytes = file_bytes(data_file("deflated.npz"));
  const auto error = [&](std::uint32_t size) {
    return error_of([&] { parse_files_npz(set_zip_field(bytes, "zeros.npy", kUncompressedSize, size)); },
                    ErrorCode::bad_file);
  };
  EXPECT_NE(error(0xfffffffe).find("\"zeros.npy\": with it the arrays would need over 536.9 MB"), std::string::npos)
      << error(0xfffffffe);
  // Entries larger or smaller than declared.
  EXPECT_NE(error(8127), "no error");
  EXPECT_NE(error(8129), "no error");
  EXPECT_NE(error(0), "no error");
}

TEST(Npz, RefusesWhatIsNotAnArray) {
  EXPECT_NE(error_of([] { read_npz(data_file("not_an_array.npz")); }).find("\"readme.txt\": not an array"),
            std::string::npos);
  EXPECT_NE(error_of([] { read_npz(data_file("f4.npy")); }, ErrorCode::bad_file).find("not a zip archive"),
            std::string::npos);
  EXPECT_NE(error_of([] { read_npz("/no/such/file.npz"); }, ErrorCode::io).find("No such file"), std::string::npos);
}

TEST(Npz, WriterRefusesNamesAndTypes) {
  const TempFolder folder;
  const auto error = [&](NamedTensors tensors) { return error_of([&] { write_npz(folder / "x.npz", tensors); }); };
  const HostTensor one = counting(DType::f32);
  EXPECT_NE(error({{{"a", one}, {"a", one}}, {}}).find("cannot store this name, or already has it"), std::string::npos);
  EXPECT_NE(error({{{std::string("a\0b", 3), one}}, {}}).find("\"a\\x00b\""), std::string::npos);
  EXPECT_NE(error({{{"a", counting(DType::bf16)}}, {}}).find(".safetensors"), std::string::npos);
  EXPECT_EQ(folder.files(), 0u);
  EXPECT_NE(error_of([&] { write_npz(folder / "no/x.npz", {{{"a", one}}, {}}); }, ErrorCode::io), "no error");
}

TEST(AnyFile, GoesByTheEndingOfTheName) {
  const TempFolder folder;
  const NamedTensors npy = read_tensors(data_file("vector.npy"));
  ASSERT_EQ(npy.tensors.size(), 1u);
  EXPECT_EQ(npy.tensors[0].first, "vector");
  for (const char* name : {"vector.npz", "vector.NPY", "vector.safetensors"}) {
    write_tensors(folder / name, npy);
    const NamedTensors back = read_tensors(folder / name);
    ASSERT_NE(back.find("vector"), nullptr) << name;
    expect_same(*back.find("vector"), counting(DType::f32, {5}), name);
  }
  EXPECT_EQ(file_bytes(folder / "vector.NPY"), file_bytes(data_file("vector.npy")));
  NamedTensors two = npy;
  two.tensors.emplace_back("other", npy.tensors[0].second);
  EXPECT_NE(error_of([&] { write_tensors(folder / "two.npy", two); }).find("has one tensor, not 2"), std::string::npos);
  EXPECT_NE(error_of([&] { write_tensors(folder / "two.txt", two); }).find(".safetensors, .npz or .npy"),
            std::string::npos);
  EXPECT_NE(error_of([] { read_tensors("weights.bin"); }).find(".safetensors, .npz or .npy"), std::string::npos);
}

}  // namespace
}  // namespace tern
