// Curves of losses.
#include "tools/train/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern::train {
namespace {

TEST(TrainCurve, SmoothsToSoManyPoints) {
  std::vector<double> losses(1000);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = static_cast<double>(i);
  const std::vector<Point> points = smoothed(losses, 10);
  ASSERT_EQ(points.size(), 10u);
  EXPECT_DOUBLE_EQ(points[0].loss, 49.5);
  EXPECT_DOUBLE_EQ(points[9].step, 950);
  losses[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isfinite(smoothed(losses, 10)[0].loss));
  EXPECT_TRUE(smoothed({}, 10).empty());
}

TEST(TrainCurve, TextFallsFromLeftToRight) {
  Curve c;
  for (int i = 0; i <= 20; ++i) c.trained.push_back({i * 10.0, 2.0 - i * 0.09});
  c.held_out = {{200, 1.0}};
  const std::string text = curve_text(c, 60, 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 13);
  EXPECT_NE(text.find("* trained, o held out"), std::string::npos);
  EXPECT_NE(text.find('o', text.find('\n')), std::string::npos);
  EXPECT_NE(text.find("200 steps"), std::string::npos);
  const std::size_t first_row = text.find('\n') + 1;
  EXPECT_EQ(text.substr(first_row, 12), "        2 |*");
  EXPECT_TRUE(curve_text({}, 60, 10).empty());
}

TEST(TrainCurve, SvgEscapesItsTitle) {
  Curve c;
  c.trained = {{1, 3}, {2, 0.001}};
  const std::string svg = curve_svg(c, "a<b>&\"c");
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;&quot;c"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace tern::train
