// The chart of errors: lengths, labels, and hostile names.
#include "tools/quantize/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tern {
namespace {

constexpr double kChartInfinite = std::numeric_limits<double>::infinity();

QuantizedWeight weight(const std::string& name, const std::string& format, double sqnr) {
  QuantizedWeight w;
  w.name = name;
  w.format = format;
  w.sqnr = sqnr;
  return w;
}

QuantizeReport report(std::vector<QuantizedWeight> weights) {
  return {std::move(weights), {}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(QuantizeChart, BarsEndWhereTheAxisDoes) {
  const Chart chart =
      chart_of(report({weight("a", "int4", 20), weight("b", "int8", 43), weight("c", "int8", kChartInfinite),
                       weight("d", "int4", -3), weight("e", "int4", std::nan(""))}),
               nullptr);
  EXPECT_EQ(chart.end, 50);
  ASSERT_EQ(chart.bars.size(), 5u);
  const double lengths[] = {20, 43, 50, 0, 0};
  const char* const texts[] = {"20.0", "43.0", "exact", "-3.0", "not measured"};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(chart.bars[i].decibels, lengths[i]) << i;
    EXPECT_EQ(chart.bars[i].text, texts[i]) << i;
  }
}

TEST(QuantizeChart, ALayerHasItsOwnError) {
  LayerError l;
  l.name = "fc";
  l.format = "int4";
  l.isolated.emplace().add(1, 0.9);  // 20 dB
  l.accumulated.emplace().add(1, 0.5);
  Calibration c;
  c.function = "forward";
  c.samples = 2;
  c.layers = {l};
  const Chart chart = chart_of({}, &c);
  ASSERT_EQ(chart.bars.size(), 1u);
  EXPECT_NEAR(chart.bars[0].decibels, 20, 1e-9);
  EXPECT_NE(chart.title.find("'forward', 2 samples"), std::string::npos) << chart.title;
}

TEST(QuantizeChart, RowsOfText) {
  const std::string text =
      chart_text(chart_of(report({weight("first", "int4", 10), weight("second", "int8", 40)}), nullptr), {});
  EXPECT_NE(text.find("first   int4  10.0  ##"), std::string::npos) << text;
  const std::size_t longest = count(text.substr(text.find("second")), "#");
  EXPECT_EQ(count(text.substr(0, text.find("second")), "#"), (longest + 2) / 4);
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_LE(text.find('\n', at) - at, 80u) << "a row is wider than the terminal";
}

TEST(QuantizeChart, BlocksHaveEighths) {
  const Chart chart = chart_of(report({weight("a", "int4", 10), weight("b", "int8", 6.25)}), nullptr);
  const std::string text = chart_text(chart, {true, 22});  // 6 1/4 of ten cells
  EXPECT_NE(text.find("10.0  ██████████\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 6.2  ██████▎\n"), std::string::npos) << text;
}

TEST(QuantizeChart, AnImageHasABarForEachLayer) {
  std::vector<QuantizedWeight> weights;
  weights.reserve(300);
  for (int i = 0; i < 300; ++i) weights.push_back(weight("w" + std::to_string(i), "int4", i));
  const std::string svg = chart_svg(chart_of(report(weights), nullptr));
  EXPECT_EQ(count(svg, "class=\"bar\""), 300u);
  EXPECT_EQ(count(svg, "<title>"), 300u);  // and a title with an id
  EXPECT_EQ(count(svg, "prefers-color-scheme:dark"), 1u);
}

TEST(QuantizeChart, NamesAreTextInAnImage) {
  const std::string names[] = {"</text><script>alert(1)</script>",
                               "a\"onload=\"b",
                               "it's & <b>",
                               "\x1b[31mred",
                               "\xef\xbf\xbf",
                               "\xff\xfe",
                               "]]>"};
  std::vector<QuantizedWeight> weights;
  for (const std::string& n : names) weights.push_back(weight(n, "int4", 20));
  const std::string svg = chart_svg(chart_of(report(weights), nullptr));
  EXPECT_EQ(count(svg, "<script"), 0u);
  EXPECT_EQ(count(svg, "\"onload"), 0u);
  EXPECT_EQ(count(svg, "<b>"), 0u);
  EXPECT_EQ(count(svg, "]]>"), 0u);
  EXPECT_EQ(svg.find_first_of("\x1b\xff\xfe"), std::string::npos);
  EXPECT_EQ(count(svg, "\xef\xbf\xbf"), 0u) << "XML has no U+FFFF";
  EXPECT_NE(svg.find("&lt;/text&gt;&lt;script&gt;alert(1)"), std::string::npos);
  EXPECT_NE(svg.find("it&#39;s &amp; &lt;b&gt;"), std::string::npos);
}

TEST(QuantizeChart, LongNamesAreCutBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "\xc3\xa9";  // é
  const std::string svg = chart_svg(chart_of(report({weight(name, "int4", 20)}), nullptr));
  EXPECT_EQ(svg.find("\\x"), std::string::npos) << "no half character was escaped";
  EXPECT_NE(svg.find("\xc3\xa9\xe2\x80\xa6<"), std::string::npos) << "an ellipsis";
  EXPECT_NE(svg.find("<title>" + name), std::string::npos) << "the whole name is in the title";
}

TEST(QuantizeChart, NothingToDraw) {
  const Chart chart = chart_of({}, nullptr);
  EXPECT_EQ(count(chart_svg(chart), "class=\"bar\""), 0u);
  EXPECT_FALSE(chart_text(chart, {}).empty());
}

}  // namespace
}  // namespace tern
