// The header of a safetensors file: names with escape sequences, and misleading headers.
#include "runtime/weights/safetensors.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <cstring>
#include <functional>

#include "runtime/weights/safetensors_header.h"

namespace tern {
namespace {

std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + std::string(data_bytes, '\0');
}

std::map<std::string, FileTensor, std::less<>> read(const std::string& bytes) {
  return read_weights(std::as_bytes(std::span(bytes)), "file");
}

std::string error_of(const std::string& bytes, ErrorCode code = ErrorCode::bad_file) {
  try {
    read(bytes);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "no error";
}

/// A tensor of U8 [bytes] with this name in JSON.
std::string entry(const std::string& name, int begin, int end) {
  return "\"" + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) + R"(],"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST(SafetensorsHeader, ReadsEscapeSequences) {
  const std::pair<const char*, std::string> kNames[] = {
      {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
      {R"(\u0041\u007f)", "A\x7f"},
      {R"(\u0080\u00fc\u00FC\u07ff)", "\xc2\x80\xc3\xbc\xc3\xbc\xdf\xbf"},
      {R"(\u0800\u20aC\ud7ff\ue000\uffff)", "\xe0\xa0\x80\xe2\x82\xac\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
      {R"(\ud800\udc00\uD83D\uDE00\udbff\udfff)", "\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
      {R"(\u0000)", std::string(1, '\0')},
      {"\xf0\x9f\x98\x80 \x7f", "\xf0\x9f\x98\x80 \x7f"},
  };
  for (const auto& [text, name] : kNames) {
    const auto tensors = read(file_of("{" + entry(text, 0, 3) + "}", 3));
    EXPECT_TRUE(tensors.contains(name)) << text;
    const std::string metadata = std::string("{\"__metadata__\":{\"") + text + "\":\"" + text + "\"}}";
    EXPECT_EQ(parse_safetensors_header(metadata, 0, "file").metadata,
              (std::map<std::string, std::string>{{name, name}}));
  }
  EXPECT_EQ(read(file_of(R"({"a":{"\u0064type":"\u00558","shape":[1],"data_offsets":[0,1]}})", 1)).at("a").dtype,
            DType::u8);
}

TEST(SafetensorsHeader, RefusesBrokenEscapeSequences) {
  for (const char* text : {R"(\x41)", R"(\)", R"(\u)", R"(\u12)", R"(\u12g4)", R"(\u 123)", R"(\u+123)", R"(\u-123)",
                           R"(\U0041)", R"(\ud800)", R"(\ud800x)", R"(\ud800\n)", R"(\ud800\u0041)", R"(\ud800\ud800)",
                           R"(\udc00)", R"(\udc00\ud800)", R"(\udbff\u)"}) {
    EXPECT_NE(error_of(file_of("{" + entry(text, 0, 1) + "}", 1)).find("not valid JSON at byte"), std::string::npos)
        << text;
    const std::string cut = std::string("{\"") + text;
    EXPECT_NE(error_of(file_of(cut, 0)).find("not valid JSON at byte"), std::string::npos) << text;
  }
}

TEST(SafetensorsHeader, RefusesTextThatIsNotUtf8) {
  for (const char* text : {"\xff", "\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\n", "\x1f"})
    EXPECT_NE(error_of(file_of("{" + entry(text, 0, 1) + "}", 1)).find("not valid JSON"), std::string::npos) << text;
}

TEST(SafetensorsHeader, RefusesALengthBeyondTheFile) {
  std::string bytes = file_of("{" + entry("a", 0, 4) + "}", 4);
  for (const std::uint64_t length : {std::uint64_t{bytes.size() - 7}, std::uint64_t{100'000'000},
                                     std::uint64_t{100'000'001}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    std::memcpy(bytes.data(), &length, sizeof length);
    const std::string error = error_of(bytes);
    EXPECT_NE(error.find(length > 100'000'000 ? "over the limit" : "does not fit into the file"), std::string::npos)
        << error;
  }
  const std::uint64_t into_data = bytes.size() - 8;
  std::memcpy(bytes.data(), &into_data, sizeof into_data);
  EXPECT_NE(error_of(bytes).find("not valid JSON"), std::string::npos);
}

TEST(SafetensorsHeader, NamesTheTensorOrTheOffset) {
  const auto tensor = [](const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  const struct {
    std::string header;
    std::size_t data_bytes;
    const char* error;
  } kCases[] = {
      {"{" + entry("a", 0, 4) + "," + entry("b", 2, 6) + "}", 6, "tensor \"b\": its data begin at 2, but"},
      {"{" + entry("b", 0, 4) + "," + entry("a", 0, 4) + "}", 4, "an overlap"},
      {"{" + entry("a", 0, 4) + "," + entry("b", 1, 2) + "}", 4, "an overlap"},
      {"{" + entry("a", 0, 2) + "," + entry("b", 3, 4) + "}", 4, "a hole"},
      {"{" + entry("a", 0, 2) + "}", 3, "belong to no tensor"},
      {"{" + entry("a", 0, 2) + "," + entry("a", 2, 4) + "}", 4, "tensor \"a\" occurs twice"},
      {"{" + entry("a", 0, 2) + "," + entry(R"(\u0061)", 2, 4) + "}", 4, "tensor \"a\" occurs twice"},
      {R"({"__metadata__":{"k":"","\u006b":""}})", 0, "metadata \"k\" occurs twice"},
      {tensor("[NaN]", "[0,1]"), 1, "not valid JSON at byte 36: expected a value"},
      {tensor("[1]", "[0,NaN]"), 1, "expected a value"},
      {tensor("[Infinity]", "[0,1]"), 1, "expected a value"},
      {tensor("[-Infinity]", "[0,1]"), 1, "a number has no digits"},
      {tensor("[-1]", "[0,1]"), 1, "the negative number -1 in \"shape\""},
      {tensor("[1e0]", "[0,1]"), 1, "the number 1e0 in \"shape\""},
      {tensor("[1.5]", "[0,1]"), 1, "the number 1.5 in \"shape\""},
      {tensor("[01]", "[0,1]"), 1, "a number starts with 0"},
      {tensor("[1.]", "[0,1]"), 1, "a number has no digits"},
      {tensor("[\"1\"]", "[0,1]"), 1, "a string in \"shape\""},
      {tensor("[true]", "[0,1]"), 1, "true or false in \"shape\""},
      {tensor("null", "[0,1]"), 1, "\"shape\" is null"},
      {tensor("[1,]", "[0,1]"), 1, "expected a value"},
      {tensor("[1 1]", "[0,1]"), 1, "expected ','"},
      {tensor("[18446744073709551616]", "[0,1]"), 1, "the number 18446744073709551616 in \"shape\""},
      {tensor("[9223372036854775808]", "[0,1]"), 1, "is too large"},
      {tensor("[4294967296,4294967296]", "[0,0]"), 0, "not a whole number of bytes"},
      {tensor("[2305843009213693952]", "[0,0]"), 0, "not a whole number of bytes"},
      {tensor("[1]", "[1,0]"), 1, "is not within the 1 bytes"},
      {tensor("[1]", "[18446744073709551615,0]"), 1, "is not within the 1 bytes"},
      {std::string("{}\0", 3), 0, "not valid JSON at byte 10"},
      {"\xef\xbb\xbf{}", 0, "does not begin with '{'"},
      {"{,}", 0, "not valid JSON at byte 9"},
      {"{\"a\":" + std::string(100'000, '['), 0, "\"a\" is an array, not an object"},
      {"{\"a\":" + std::string(100'000, '{'), 0, "not valid JSON at byte 14"},
      {"{" + entry(R"(\u001b[31m\n)", 0, 1) + "}", 0, "tensor \"\\x1b[31m\\x0a\""},
  };
  for (const auto& c : kCases) {
    const std::string error = error_of(file_of(c.header, c.data_bytes));
    EXPECT_NE(error.find(c.error), std::string::npos) << c.header.substr(0, 200) << "\n  " << error;
  }
  EXPECT_NE(error_of(file_of(R"({"a":{"dtype":"Q7","shape":[1],"data_offsets":[0,1]}})", 1), ErrorCode::unsupported)
                .find("unknown dtype \"Q7\""),
            std::string::npos);
}

}  // namespace
}  // namespace tern
