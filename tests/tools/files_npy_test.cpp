// .npy files: written by NumPy, and hostile files.
#include <gtest/gtest.h>

#include "tests/tools/support.h"
#include "tools/files/npy.h"

namespace tern {
namespace {

using namespace test;

struct Type {
  const char* name;
  DType dtype;
};
const std::vector<Type> kTypes = {{"bool", DType::boolean}, {"u1", DType::u8},   {"i1", DType::i8},  {"i2", DType::i16},
                                  {"i4", DType::i32},       {"i8", DType::i64},  {"u2", DType::u16}, {"u4", DType::u32},
                                  {"u8", DType::u64},       {"f2", DType::f16},  {"f4", DType::f32}, {"f8", DType::f64},
                                  {"c8", DType::c64},       {"c16", DType::c128}};

HostTensor parse(const std::string& bytes) {
  MemorySource source(std::as_bytes(std::span(bytes)), "memory");
  return read_npy(source);
}

std::string npy_bytes(const std::string& header, std::size_t data_bytes) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + std::string(data_bytes, '\0');
}

TEST(Npy, ReadsWhatNumPyWrote) {
  for (const auto& [name, dtype] : kTypes) {
    expect_same(read_npy(data_file(std::string(name) + ".npy")), counting(dtype), name);
  }
  expect_same(read_npy(data_file("scalar.npy")), tensor_of<float>(DType::f32, {}, {1.5f}), "scalar");
  expect_same(read_npy(data_file("empty.npy")), tensor_of<float>(DType::f32, {0, 4}, {}), "empty");
  expect_same(read_npy(data_file("vector.npy")), counting(DType::f32, {5}), "vector");
  expect_same(read_npy(data_file("version2.npy")), counting(DType::f32), "version 2.0");
  expect_same(read_npy(data_file("version3.npy")), counting(DType::f32), "version 3.0");
}

TEST(Npy, CopiesFortranOrderToRowMajor) {
  ASSERT_NE(file_bytes(data_file("fortran.npy")).find("'fortran_order': True"), std::string::npos);
  expect_same(read_npy(data_file("fortran.npy")), counting(DType::i32, {2, 3, 4}), "fortran");
}

TEST(Npy, WritesTheBytesThatNumPyWrites) {
  const TempFolder folder;
  std::vector<std::string> names = {"scalar", "empty", "vector"};
  for (const Type& type : kTypes) names.push_back(type.name);
  for (const std::string& name : names) {
    write_npy(folder / name, read_npy(data_file(name + ".npy")));
    EXPECT_EQ(file_bytes(folder / name), file_bytes(data_file(name + ".npy"))) << name;
  }
}

TEST(Npy, RefusesToWriteTypesThatNumPyDoesNotHave) {
  const TempFolder folder;
  for (const DType dtype :
       {DType::bf16, DType::c32, DType::f8_e4m3fn, DType::f8_e8m0, DType::f6_e2m3, DType::f4_e2m1}) {
    const std::string error = error_of([&] { write_npy(folder / "x.npy", counting(dtype)); }, ErrorCode::unsupported);
    EXPECT_NE(error.find(".safetensors"), std::string::npos) << error;
  }
  EXPECT_EQ(folder.files(), 0u);
}

TEST(Npy, RefusesArraysOfOtherThings) {
  const auto error = [](const char* name) {
    return error_of([&] { read_npy(data_file(name)); }, ErrorCode::unsupported);
  };
  EXPECT_NE(error("big_endian.npy").find("'>f4' is big-endian"), std::string::npos);
  EXPECT_NE(error("record.npy").find("the array has records"), std::string::npos);
  EXPECT_NE(error("object.npy").find("never unpickled"), std::string::npos);
  EXPECT_NE(error("text.npy").find("'<U2' is not an element type"), std::string::npos);
}

TEST(Npy, RefusesEveryTruncation) {
  for (const char* name : {"c16.npy", "version3.npy", "fortran.npy"}) {
    const std::string bytes = file_bytes(data_file(name));
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      ASSERT_NE(error_of([&] { parse(bytes.substr(0, n)); }, ErrorCode::bad_file), "no error")
          << name << " cut at " << n;
    }
    EXPECT_NE(error_of([&] { parse(bytes + '\0'); }, ErrorCode::bad_file), "no error") << name;
  }
}

TEST(Npy, SurvivesEveryFlippedBit) {
  const std::string bytes = file_bytes(data_file("fortran.npy"));
  int refused = 0;
  for (std::size_t i = 0; i < 128; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      if (error_of([&] { parse(changed); }) != "no error") ++refused;
    }
  }
  EXPECT_GT(refused, 900);
}

TEST(Npy, NamesTheRuleThatIsBroken) {
  struct Case {
    const char* header;
    std::size_t data_bytes;
    const char* error;
  };
  const std::vector<Case> kCases = {
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }\n", 0, "the size -1 is negative"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }\n", 0, "a size exceeds 2^63-1"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n", 0, "needs over 2^63 bytes"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4294967296, 4294967296), }\n", 0, "needs over 2^63 bytes"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }\n", 0, "needs over 2^63 bytes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n", 8, "needs 4000000000000 bytes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 9, "needs 8 bytes from byte 68 on, but 9 follow"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2), }\n", 8, "'shape' is not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 2, }\n", 8, "expected '('"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2), }\n", 16, "expected ',' or ')'"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }\n", 8, "neither True nor False"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8, "'descr' occurs twice"},
      {"{'descr': '<f4', 'fortran_order': False}\n", 8, "is missing"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}\n", 8, "unknown key 'x'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x\n", 8, "there is text after the dictionary"},
      {"{'descr': '<f4\n", 8, "a string is not closed"},
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,)}\n", 16, "'<f16' is not an element type"},
      {"{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}\n", 2, "save it as .safetensors"},
      {"", 0, "expected '{'"},
  };
  for (const Case& c : kCases) {
    const std::string error = error_of([&] { parse(npy_bytes(c.header, c.data_bytes)); });
    EXPECT_NE(error.find(c.error), std::string::npos) << c.header << "\n  " << error;
  }
  EXPECT_NE(error_of([] { parse(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)); }).find("over the limit"),
            std::string::npos);
  EXPECT_NE(error_of([] { parse(std::string("\x93NUMPY\4\0....", 12)); }).find("version 4.0"), std::string::npos);
  EXPECT_NE(error_of([] { parse("PK..............."); }).find("does not begin with"), std::string::npos);
  std::string bytes = npy_bytes("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", 2);
  bytes.back() = 7;
  EXPECT_NE(error_of([&] { parse(bytes); }).find("is 7, but a boolean is 0 or 1"), std::string::npos);
}

TEST(Npy, AcceptsOtherSpellings) {
  const HostTensor t = parse(npy_bytes("{\"shape\":(1L,2L),\"fortran_order\":False,\"descr\":\"<u1\"}", 2));
  EXPECT_EQ(t.dtype, DType::u8);
  EXPECT_EQ(t.sizes, (std::vector<std::int64_t>{1, 2}));
}

}  // namespace
}  // namespace tern
