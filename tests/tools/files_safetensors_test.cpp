// Safetensors files: written by the format's own library, and hostile files.
#include <gtest/gtest.h>

#include "tests/tools/support.h"
#include "tools/files/safetensors.h"

namespace tern {
namespace {

using namespace test;

NamedTensors parse_files_safetensors(const std::string& bytes) {
  MemorySource source(std::as_bytes(std::span(bytes)), "memory");
  return read_safetensors(source);
}

std::string safetensors_bytes(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\0');
}

std::string error_for(const std::string& header, std::size_t data_bytes) {
  return error_of([&] { parse_files_safetensors(safetensors_bytes(header, data_bytes)); });
}

TEST(Safetensors, ReadsWhatTheLibraryWrote) {
  const NamedTensors file = read_safetensors(data_file("numpy.safetensors"));
  const std::vector<std::pair<const char*, DType>> kTypes = {
      {"bool", DType::boolean}, {"u1", DType::u8},  {"i1", DType::i8},  {"i2", DType::i16},
      {"i4", DType::i32},       {"i8", DType::i64}, {"u2", DType::u16}, {"u4", DType::u32},
      {"u8", DType::u64},       {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}};
  for (const auto& [name, dtype] : kTypes) {
    ASSERT_NE(file.find(name), nullptr) << name;
    expect_same(*file.find(name), counting(dtype), name);
  }
  expect_same(*file.find("scalar"), tensor_of<float>(DType::f32, {}, {1.5f}), "scalar");
  expect_same(*file.find("empty"), tensor_of<float>(DType::f32, {0, 4}, {}), "empty");
  EXPECT_EQ(file.tensors.size(), kTypes.size() + 2);
  EXPECT_EQ(file.find("no such"), nullptr);
  EXPECT_EQ(file.metadata, (std::map<std::string, std::string>{{"op", "a \"quoted\"\nname \x01 \xc3\xbc"}}));
}

TEST(Safetensors, ReadsSmallFloats) {
  const NamedTensors file = read_safetensors(data_file("small_floats.safetensors"));
  std::vector<std::uint8_t> codes;
  for (int i = 0; i < 16; ++i) codes.push_back(static_cast<std::uint8_t>(i * 5 % 256));
  const std::vector<std::pair<const char*, DType>> kTypes = {{"e4m3", DType::f8_e4m3fn},
                                                             {"e5m2", DType::f8_e5m2},
                                                             {"e4m3fnuz", DType::f8_e4m3fnuz},
                                                             {"e5m2fnuz", DType::f8_e5m2fnuz},
                                                             {"e8m0", DType::f8_e8m0}};
  for (const auto& [name, dtype] : kTypes) expect_same(*file.find(name), tensor_of(dtype, {16}, codes), name);
  expect_same(*file.find("bf16"), tensor_of(DType::bf16, {2, 4}, codes), "bf16");
  expect_same(*file.find("c8"), counting(DType::c64), "c8");
  EXPECT_EQ(file.find("f4")->sizes, (std::vector<std::int64_t>{2, 8}));  // elements, not bytes
  EXPECT_EQ(as_doubles(*file.find("f4")),
            (std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6}));
}

TEST(Safetensors, WritesTheBytesThatTheLibraryWrites) {
  const TempFolder folder;
  for (const char* name : {"numpy.safetensors", "small_floats.safetensors", "isclose.safetensors"}) {
    NamedTensors file = read_safetensors(data_file(name));
    std::reverse(file.tensors.begin(), file.tensors.end());
    write_safetensors(folder / name, file);
    EXPECT_EQ(file_bytes(folder / name), file_bytes(data_file(name))) << name;
  }
  EXPECT_EQ(folder.files(), 3u) << "no temporary file stays behind";
}

TEST(Safetensors, KeepsEveryElementType) {
  const TempFolder folder;
  NamedTensors tensors;
  for (int i = 1; i < kTensorDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    tensors.tensors.emplace_back(std::string(name_of(dtype)), counting(dtype, {2, 4}));
  }
  write_safetensors(folder / "all.safetensors", tensors);
  const NamedTensors back = read_safetensors(folder / "all.safetensors");
  ASSERT_EQ(back.tensors.size(), tensors.tensors.size());
  for (const auto& [name, tensor] : tensors.tensors) expect_same(*back.find(name), tensor, name);
}

TEST(Safetensors, PacksFourSixBitElementsIntoThreeBytes) {
  // 1 | 2 << 6 | 3 << 12 | 4 << 18 = 0x103081
  std::string bytes =
      safetensors_bytes(R"({"a":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[0,3]}})", 0) + "\x81\x30\x10";
  EXPECT_EQ(as_bytes(*parse_files_safetensors(bytes).find("a")), (std::vector<int>{1, 2, 3, 4}));
  const TempFolder folder;
  write_safetensors(folder / "f6.safetensors", parse_files_safetensors(bytes));
  EXPECT_EQ(file_bytes(folder / "f6.safetensors").substr(file_bytes(folder / "f6.safetensors").size() - 3),
            "\x81\x30\x10");
}

TEST(Safetensors, RefusesEveryTruncation) {
  for (const char* name : {"numpy.safetensors", "small_floats.safetensors"}) {
    const std::string bytes = file_bytes(data_file(name));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      ASSERT_NE(error_of([&] { parse_files_safetensors(bytes.substr(0, n)); }, ErrorCode::bad_file), "no error")
          << name << " cut at " << n;
    }
    EXPECT_NE(error_of([&] { parse_files_safetensors(bytes + '\0'); }).find("1 bytes from byte"), std::string::npos);
  }
}

TEST(Safetensors, SurvivesEveryFlippedBitOfTheHeader) {
  const std::string bytes = file_bytes(data_file("numpy.safetensors"));
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size() - 274; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      if (error_of([&] { parse_files_safetensors(changed); }) != "no error") ++refused;
    }
  }
  EXPECT_GT(refused, 3000);  // accepted changes hit a letter of a name, or turn I into U
}

TEST(Safetensors, RefusesHugeHeaders) {
  for (const std::uint64_t length : {std::uint64_t{100'000'001}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    std::string bytes = safetensors_bytes("{}", 100);
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_NE(error_of([&] { parse_files_safetensors(bytes); }).find("over the limit of 100000000"), std::string::npos);
  }
  std::string bytes = safetensors_bytes("{}", 100);
  bytes[0] = 103;
  EXPECT_NE(
      error_of([&] { parse_files_safetensors(bytes); }).find("header of 103 bytes does not fit into the file of 110"),
      std::string::npos);
}

TEST(Safetensors, NamesTheRuleThatIsBroken) {
  struct Case {
    const char* header;
    std::size_t data_bytes;
    const char* error;
  };
  const std::vector<Case> kCases = {
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       6, "tensor \"b\": its data begin at 2, but those before it end at 4 (byte 117 of the file): an overlap"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
       6, "a hole"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       4, "an overlap"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3, "a hole"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 3, "1 bytes from byte 63 on belong to no tensor"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", 2,
       "its range 2 to 0 is not within the 2 bytes of data"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 1, "not within the 1 bytes"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,18446744073709551615]}})", 2, "not within"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,18446744073709551616]}})", 2,
       "the number 18446744073709551616"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "F32 [2] needs 8 bytes, but its range 0 to 4"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "not a whole number of bytes"},
      {R"({"a":{"dtype":"F64","shape":[2305843009213693952,1],"data_offsets":[0,0]}})", 0,
       "not a whole number of bytes"},
      {R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 0,
       "not a whole number of bytes"},
      {R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0]}})", 0,
       "size 9223372036854775808 is too large"},
      {R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", 0, "the negative number -1 in \"shape\""},
      {R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "the number 1.0 in \"shape\""},
      {R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, "an array in \"shape\""},
      {R"({"a":{"dtype":"U8","shape":3,"data_offsets":[0,1]}})", 1, "\"shape\" is a number"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "\"data_offsets\" has 1 numbers, not 2"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})", 1, "more than 2 numbers"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, "unknown field \"x\""},
      {R"({"a":{"dtype":"U8","shape":[1]}})", 0, "\"data_offsets\" is missing"},
      {R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1, "\"dtype\" occurs twice"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
       2, "tensor \"a\" occurs twice"},
      {R"({"a":{"dtype":"Q7","shape":[1],"data_offsets":[0,1]}})", 1, "unknown dtype \"Q7\""},
      {R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", 1, "\"dtype\" is a number"},
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2, "F4 [3] is not a whole number of bytes"},
      {R"({"a":{"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,2]}})", 2,
       "F6_E2M3 [2] is not a whole number of bytes"},
      {R"({"a":[]})", 0, "\"a\" is an array, not an object"},
      {R"({"__metadata__":{"k":1}})", 0, "metadata \"k\" is a number, not a string"},
      {R"({"__metadata__":{"k":"1","k":"2"}})", 0, "metadata \"k\" occurs twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "\"__metadata__\" occurs twice"},
      {R"({"a)", 0, "the header is not valid JSON at byte 11"},
      {R"({} {})", 0, "not valid JSON at byte 11"},
      {R"([])", 0, "does not begin with '{'"},
      {"\xef\xbb\xbf{}", 0, "does not begin with '{'"},
      {R"({"\ud800":1})", 0, "not valid JSON"},
      {"{\"\xff\":1}", 0, "not valid JSON"},
      {R"({"a\u001b[31m":{"dtype":"U8"}})", 0, "tensor \"a\\x1b[31m\": \"shape\" is missing"},
  };
  for (const Case& c : kCases) {
    const std::string error = error_for(c.header, c.data_bytes);
    EXPECT_NE(error.find(c.error), std::string::npos) << c.header << "\n  " << error;
  }
  EXPECT_NE(error_for(std::string("{}\0 trailing", 12), 0).find("not valid JSON at byte 10"), std::string::npos);
  const std::string deep(200'000, '[');
  EXPECT_NE(error_for("{\"a\":" + deep, 0).find("is an array"), std::string::npos);
  std::string shape;
  for (int i = 0; i < 65; ++i) shape += i == 0 ? "1" : ",1";
  EXPECT_NE(error_for("{\"a\":{\"dtype\":\"U8\",\"shape\":[" + shape + "],\"data_offsets\":[0,1]}}", 1)
                .find("more than 64 dimensions"),
            std::string::npos);
}

TEST(Safetensors, RefusesBooleansThatAreNeither) {
  const std::string bytes =
      safetensors_bytes(R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", 0) + std::string("\1\0\2", 3);
  EXPECT_NE(error_of([&] { parse_files_safetensors(bytes); }).find("tensor \"a\": byte 65 of the file is 2"),
            std::string::npos)
      << error_of([&] { parse_files_safetensors(bytes); });
}

TEST(Safetensors, AcceptsPaddingAndTensorsInAnyOrder) {
  const NamedTensors file = parse_files_safetensors(safetensors_bytes(
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"e":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},)"
      R"("a":{"shape":[1],"data_offsets":[0,1],"dtype":"U8"}}     )",
      3));
  std::string order;
  for (const auto& [name, tensor] : file.tensors) order += name;
  EXPECT_EQ(order, "aeb");
  EXPECT_TRUE(parse_files_safetensors(safetensors_bytes("{}", 0)).tensors.empty());
}

TEST(Safetensors, WriterRefusesWhatTheFormatCannotHold) {
  const TempFolder folder;
  const auto error = [&](NamedTensors tensors) { return error_of([&] { write_safetensors(folder / "x", tensors); }); };
  const HostTensor one = counting(DType::f32);
  EXPECT_NE(error({{{"a", one}, {"a", one}}, {}}).find("two tensors are named \"a\""), std::string::npos);
  EXPECT_NE(error({{{"\xff", one}}, {}}).find("tensor \"\\xff\": a safetensors file cannot hold this name"),
            std::string::npos);
  EXPECT_NE(error({{{"__metadata__", one}}, {}}).find("cannot hold this name"), std::string::npos);
  EXPECT_NE(error({{{"a", {DType::f32, {3}, std::vector<std::byte>(8)}}}, {}}).find("does not fit its 8 bytes"),
            std::string::npos);
  EXPECT_NE(error({{{"a", counting(DType::f4_e2m1, {3})}}, {}}).find("not a whole number of bytes"), std::string::npos);
  EXPECT_EQ(folder.files(), 0u);
}

TEST(Safetensors, NamesAFileThatCannotBeRead) {
  EXPECT_NE(error_of([] { read_safetensors("/no/such/file"); }, ErrorCode::io).find("/no/such/file: No such file"),
            std::string::npos);
  EXPECT_NE(error_of([] { read_safetensors(data_file("")); }, ErrorCode::io).find("not a regular file"),
            std::string::npos);
}

}  // namespace
}  // namespace tern
