// The text of JSON: any strings and numbers come back, and lists of objects have a line for each object.
#include "tools/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonText, ObjectsOfAListHaveALineEach) {
  const Json value = {
      {"b", 1}, {"a", Json::array({1.5, "x", nullptr})}, {"list", {{{"n", 1}}, {{"n", 2}}}}, {"none", Json::array()}};
  EXPECT_EQ(json_text(value),
            "{\"b\": 1, \"a\": [1.5, \"x\", null], \"list\": [\n  {\"n\": 1},\n  {\"n\": 2}], \"none\": []}");
}

TEST(JsonText, AnyStringIsParsed) {
  std::string bytes;
  for (int c = 0; c < 128; ++c) bytes += static_cast<char>(c);
  bytes += "\xc3\xbc\xe2\x80\xae";  // a letter, and a mark that turns the direction of text
  const Json value = {{bytes, bytes}};
  const std::string text = json_text(value);
  EXPECT_EQ(Json::parse(text), value);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos);
  EXPECT_EQ(Json::parse(json_text("\xff")), Json("\xef\xbf\xbd"));
}

TEST(JsonText, Numbers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json_text({2.0, 0.1, 1e300, -3, kInfinity}), "[2, 0.1, 1e+300, -3, null]");
  EXPECT_EQ(json_number(-kInfinity), nullptr);
  EXPECT_EQ(json_number(0.25), 0.25);
  EXPECT_EQ(json_rounded(1.23456, 4), 1.2346);
  EXPECT_EQ(json_rounded(2e9 + 0.6, 0), 2'000'000'001);
  EXPECT_EQ(json_rounded(std::numeric_limits<double>::quiet_NaN(), 0), nullptr);
  EXPECT_EQ(json_rounded(kInfinity, 3), nullptr);
}

}  // namespace
}  // namespace tern
