// The gradient of every resize: resizing is linear, so element i of the gradient is the resized i-th unit image times
// the gradient of the result.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/lowered_call.h"

namespace tern::testing {
namespace {

using Sizes = LoweredCall::Sizes;
using Numbers = LoweredCall::Numbers;

struct Mode {
  std::string name;
  std::int64_t axes;
  bool corners;  ///< has the argument align_corners
};
const Mode kModes[] = {
    {"upsample_nearest1d", 1, false},        {"upsample_nearest2d", 2, false},
    {"upsample_nearest3d", 3, false},        {"_upsample_nearest_exact1d", 1, false},
    {"_upsample_nearest_exact2d", 2, false}, {"_upsample_nearest_exact3d", 3, false},
    {"upsample_linear1d", 1, true},          {"upsample_bilinear2d", 2, true},
    {"upsample_trilinear3d", 3, true},       {"upsample_bicubic2d", 2, true},
    {"_upsample_bilinear2d_aa", 2, true},    {"_upsample_bicubic2d_aa", 2, true},
    {"_upsample_lanczos2d_aa", 2, true},
};

struct ResizeCase {
  Sizes input_sizes, output_sizes;  ///< spatial sizes
  double scale;                     ///< per axis; 0: not given
};
// Sizes are neither equal nor doubled: PyTorch's gradients for these are not always adjoint to its resizes
// (tests/data/values).
const ResizeCase kResizeCases[] = {{{3, 4, 2}, {5, 9, 3}, 0}, {{5, 4, 3}, {3, 1, 2}, 0}, {{2, 3, 3}, {5, 7, 5}, 1.9}};

class Resized {
 public:
  Resized(const Mode& mode, const ResizeCase& c, bool corners) : mode_(mode), corners_(corners), scale_(c.scale) {
    for (std::int64_t a = 0; a < mode.axes; ++a) {
      input_sizes.push_back(c.input_sizes[static_cast<std::size_t>(a)]);
      output_sizes.push_back(c.output_sizes[static_cast<std::size_t>(a)]);
    }
  }
  static Sizes image(const Sizes& spatial) {
    Sizes s{1, 1};
    s.insert(s.end(), spatial.begin(), spatial.end());
    return s;
  }
  static std::size_t count(const Sizes& spatial) {
    std::size_t n = 1;
    for (std::int64_t s : spatial) n *= static_cast<std::size_t>(s);
    return n;
  }
  Numbers forward(const Numbers& x) const {
    LoweredCall c("aten." + mode_.name + ".default");
    return arguments(c.tensor("self", image(input_sizes), x)).run()[0];
  }
  Numbers backward(const Numbers& g) const {
    LoweredCall c("aten." + mode_.name + "_backward.default");
    return arguments(c.tensor("grad_output", image(output_sizes), g).integers("input_size", image(input_sizes)))
        .run()[0];
  }

  Sizes input_sizes, output_sizes;

 private:
  LoweredCall& arguments(LoweredCall& c) const {
    c.integers("output_size", output_sizes);
    if (mode_.axes == 1) scale(c, "scales");
    if (mode_.axes == 3) scale(c, "scales_d");
    if (mode_.axes >= 2) scale(scale(c, "scales_h"), "scales_w");
    if (mode_.corners) c.flag("align_corners", corners_);
    return c;
  }

  LoweredCall& scale(LoweredCall& c, const char* name) const {
    return scale_ == 0 ? c.none(name) : c.number(name, scale_);
  }

  const Mode& mode_;
  bool corners_;
  double scale_;
};

TEST(Gradients, OfResizes) {
  for (const Mode& mode : kModes) {
    for (const ResizeCase& c : kResizeCases) {
      for (int corners = 0; corners < (mode.corners ? 2 : 1); ++corners) {
        const Resized r(mode, c, corners != 0);
        Numbers g(Resized::count(r.output_sizes));
        for (std::size_t j = 0; j < g.size(); ++j) g[j] = std::sin(1.7 * static_cast<double>(j) + 0.3);
        const Numbers x = r.backward(g);
        ASSERT_EQ(x.size(), Resized::count(r.input_sizes)) << mode.name;
        for (std::size_t i = 0; i < x.size(); ++i) {
          Numbers unit(x.size(), 0.0);
          unit[i] = 1;
          const Numbers y = r.forward(unit);
          double sum = 0;
          for (std::size_t j = 0; j < y.size(); ++j) sum += y[j] * g[j];
          EXPECT_NEAR(x[i], sum, 1e-12 * (1 + std::fabs(sum))) << mode.name << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern::testing
