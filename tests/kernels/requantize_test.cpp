// Products of 8-bit integers with requantizing epilogues, against sums in 64 bits and plain arithmetic in float32.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "dtypes/cast.h"
#include "kernels/cpu/algorithms.h"
#include "tests/kernels/node_run.h"
#include "tests/kernels/pointwise_support.h"
#include "threads/threads.h"

namespace tern::test {
namespace {

using RequantizeShape = std::vector<std::int64_t>;

/// Quantized layers end so: y / scale, rounded, plus the zero point, bounded by the type.
struct End {
  DType dtype;
  double factor;
  bool divides;
  int zero;
};

/// Steps between the sum and the end, as instructions and as arithmetic. Operands: three numbers per column, a number
/// per row, an element in float32, uint8 and int8.
struct Middle {
  const char* name;
  std::uint16_t (*code)(Code&, std::uint16_t own);
  float (*value)(float own, float column, float second, float third, float row, float element, float unsigned_byte,
                 float signed_byte);
};

std::uint16_t loaded(Code& c, std::int64_t operand, DType dtype = DType::f32) {
  return c.load(operand, dtype);
}
std::uint16_t number(Code& c, double v) {
  return c.constant(DType::f32, v);
}
std::uint16_t f_requantize(Code& c, Scalar op, std::uint16_t a, std::uint16_t b = 0) {
  return c.push(op, DType::f32, a, b);
}
/// (float(x) - less) * times
std::uint16_t widened(Code& c, std::int64_t operand, DType dtype, double less, double times) {
  const auto x = c.push(Scalar::convert, DType::f32, loaded(c, operand, dtype));
  return f_requantize(c, Scalar::mul, f_requantize(c, Scalar::sub, x, number(c, less)), number(c, times));
}

constexpr Middle kMiddles[] = {
    {"scale", [](Code& c, std::uint16_t x) { return f_requantize(c, Scalar::mul, x, loaded(c, 1)); },
     [](float x, float s, float, float, float, float, float, float) { return x * s; }},
    {"scale and bias, relu",
     [](Code& c, std::uint16_t x) {
       x = f_requantize(c, Scalar::add, f_requantize(c, Scalar::mul, x, loaded(c, 1)), loaded(c, 2));
       return f_requantize(c, Scalar::max, x, number(c, 0));
     },
     [](float x, float s, float b, float, float, float, float, float) {
       const float y = x * s;
       return std::max(y + b, 0.0F);
     }},
    {"corrected, bounded on both sides",
     [](Code& c, std::uint16_t x) {
       x = f_requantize(c, Scalar::mul, f_requantize(c, Scalar::sub, x, loaded(c, 3)), loaded(c, 1));
       x = f_requantize(c, Scalar::max, f_requantize(c, Scalar::add, x, loaded(c, 2)), number(c, -0.75));
       return f_requantize(c, Scalar::min, number(c, 1.3), x);
     },
     [](float x, float s, float b, float corrected, float, float, float, float) {
       const float y = (x - corrected) * s;
       return std::min(std::max(y + b, -0.75F), 1.3F);
     }},
    {"scales of rows and columns",
     [](Code& c, std::uint16_t x) {
       return f_requantize(c, Scalar::mul, f_requantize(c, Scalar::mul, x, loaded(c, 4)), loaded(c, 1));
     },
     [](float x, float s, float, float, float row, float, float, float) {
       const float y = x * row;
       return y * s;
     }},
    {"a residual of float32, relu before and behind it",
     [](Code& c, std::uint16_t x) {
       x = f_requantize(c, Scalar::max, f_requantize(c, Scalar::mul, x, loaded(c, 1)), number(c, 0));
       return f_requantize(c, Scalar::max, f_requantize(c, Scalar::add, loaded(c, 5), x), number(c, 0));
     },
     [](float x, float s, float, float, float, float element, float, float) {
       return std::max(element + std::max(x * s, 0.0F), 0.0F);
     }},
    {"a residual of uint8",
     [](Code& c, std::uint16_t x) {
       x = f_requantize(c, Scalar::add, f_requantize(c, Scalar::mul, x, loaded(c, 1)), loaded(c, 2));
       return f_requantize(c, Scalar::add, x, widened(c, 6, DType::u8, 103, 0.0122453));
     },
     [](float x, float s, float b, float, float, float, float u, float) {
       const float y = x * s, z = y + b;
       return z + (u - 103) * 0.0122453F;
     }},
    {"a residual of int8",
     [](Code& c, std::uint16_t x) {
       x = f_requantize(c, Scalar::mul, x, loaded(c, 1));
       return f_requantize(c, Scalar::max, f_requantize(c, Scalar::add, x, widened(c, 7, DType::i8, -4, 0.01)),
                           number(c, 0));
     },
     [](float x, float s, float, float, float, float, float, float i) {
       const float y = x * s;
       return std::max(y + (i + 4) * 0.01F, 0.0F);
     }},
    {"hardswish of scale and bias",
     [](Code& c, std::uint16_t x) {
       x = f_requantize(c, Scalar::add, f_requantize(c, Scalar::mul, x, loaded(c, 1)), loaded(c, 2));
       const auto high = f_requantize(
           c, Scalar::min, f_requantize(c, Scalar::max, f_requantize(c, Scalar::add, x, number(c, 3)), number(c, 0)),
           number(c, 6));
       return f_requantize(c, Scalar::mul, x, f_requantize(c, Scalar::mul, high, number(c, 1.0F / 6.0F)));
     },
     [](float x, float s, float b, float, float, float, float, float) {
       const float scaled = x * s, y = scaled + b;
       const float high = std::min(std::max(y + 3, 0.0F), 6.0F);
       return y * (high * (1.0F / 6.0F));
     }},
    {"no chain: the sum is read twice",
     [](Code& c, std::uint16_t x) {
       x = f_requantize(c, Scalar::mul, x, loaded(c, 1));
       return f_requantize(c, Scalar::mul, x, x);
     },
     [](float x, float s, float, float, float, float, float, float) {
       const float y = x * s;
       return y * y;
     }},
};

constexpr End kEndCases[] = {{DType::u8, 117.721, false, 0},
                             {DType::u8, 1 / 0.0078, false, 131},
                             {DType::i8, 81.6638, false, -7},
                             {DType::i8, 0.0123, true, 0},
                             {DType::u8, 0.011, true, 3}};

PointwiseExpr expression(const Middle& m, const End& e) {
  Code c;
  auto x = m.code(c, loaded(c, 0));
  x = f_requantize(c, Scalar::round, f_requantize(c, e.divides ? Scalar::div : Scalar::mul, x, number(c, e.factor)));
  x = f_requantize(c, Scalar::add, x, number(c, e.zero));
  const double least = e.dtype == DType::u8 ? 0 : -128;
  x = f_requantize(c, Scalar::min, f_requantize(c, Scalar::max, x, number(c, least)), number(c, least + 255));
  c.push(Scalar::convert, e.dtype, x);
  return c.expr;
}

double stored(float y, const End& e) {
  const auto factor = static_cast<float>(e.factor);
  const float least = e.dtype == DType::u8 ? 0 : -128;
  const float scaled = e.divides ? y / factor : y * factor, q = std::nearbyint(scaled) + static_cast<float>(e.zero);
  if (std::isnan(q)) return 0;  // PyTorch's conversion on x86
  return std::clamp(q, least, least + 255);
}

std::vector<double> bytes(std::int64_t n, unsigned seed, DType dtype) {
  std::mt19937 random(seed);
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = static_cast<double>(random() % 256) - (dtype == DType::u8 ? 0 : 128);
  return v;
}
std::vector<float> numbers(std::int64_t n, unsigned seed, float low, float high) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> at(low, high);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = at(random);
  return v;
}

/// a [m, k] by b [k, n], stored by columns like a linear layer's weight.
void check(std::int64_t m, std::int64_t n, std::int64_t k, const Middle& middle, const End& end, float first_scale) {
  const auto a = bytes(m * k, 1, DType::u8), b = bytes(k * n, 2, DType::i8), u = bytes(m * n, 3, DType::u8),
             i8 = bytes(m * n, 4, DType::i8);
  auto columns = numbers(n, 5, 1e-5F, 9e-5F), second = numbers(n, 6, -1, 1), third = numbers(n, 7, -9000, 9000),
       rows = numbers(m, 8, 0.5F, 1), elements = numbers(m * n, 9, -1, 1);
  columns[0] = first_scale;
  NodeRun run(Op::matmul);
  run.input(DType::u8, {m, k}, a);
  run.input(DType::i8, {k, n}, b, {1, k}, true);
  run.no_input();
  run.input(DType::f32, {n}, columns);
  run.input(DType::f32, {n}, second);
  run.input(DType::f32, {n}, third);
  run.input(DType::f32, {m, 1}, rows);
  run.input(DType::f32, {m, n}, elements);
  run.input(DType::u8, {m, n}, u);
  run.input(DType::i8, {m, n}, i8);
  run.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f32));
  run.node().expr = expression(middle, end);
  const std::vector<Number> got = run.run().output();
  ASSERT_EQ(got.size(), static_cast<std::size_t>(m * n));
  for (std::int64_t r = 0; r < m; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j)
        sum += a[static_cast<std::size_t>(r * k + j)] * b[static_cast<std::size_t>(j * n + c)];
      const auto at = static_cast<std::size_t>(r * n + c), column = static_cast<std::size_t>(c);
      const float y = middle.value(static_cast<float>(sum), columns[column], second[column], third[column],
                                   rows[static_cast<std::size_t>(r)], elements[at], static_cast<float>(u[at]),
                                   static_cast<float>(i8[at]));
      ASSERT_EQ(got[at].real(), stored(y, end)) << middle.name << ", row " << r << ", column " << c;
    }
  }
}

TEST(Requantize, ProductsOfEverySize) {
  for (const int threads : {1, 3}) {
    const ThreadScope scope{Threads(threads)};
    for (const Middle& middle : kMiddles) {
      for (const End& end : kEndCases) {
        ASSERT_NO_FATAL_FAILURE(check(1, 70, 64, middle, end, 4e-5F));
        ASSERT_NO_FATAL_FAILURE(check(3, 33, 100, middle, end, 4e-5F));
        ASSERT_NO_FATAL_FAILURE(check(70, 45, 128, middle, end, 4e-5F));
      }
    }
  }
}

TEST(Requantize, ScalesThatAreNoNumbers) {
  for (const float scale : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38F,
                            -std::numeric_limits<float>::infinity()}) {
    for (const Middle& middle : kMiddles) {
      for (const End& end : kEndCases) {
        const std::string_view name = middle.name;
        if (name.find("relu") != std::string_view::npos || name.find("swish") != std::string_view::npos)
          continue;  // std::max is not max of NaN
        ASSERT_NO_FATAL_FAILURE(check(1, 40, 64, middle, end, scale));
        ASSERT_NO_FATAL_FAILURE(check(40, 40, 64, middle, end, scale));
      }
    }
  }
}

/// Activations before a product: x times a number per row, times a scalar, or unchanged.
TEST(Requantize, NumbersOfPointwiseNodes) {
  const RequantizeShape shapes[] = {{5, 100}, {1, 9000}, {3, 7, 40}, {2, 5000}};
  for (const int threads : {1, 3}) {
    const ThreadScope scope{Threads(threads)};
    for (const RequantizeShape& shape : shapes) {
      const std::int64_t count = product(shape), row = shape.back();
      RequantizeShape of_rows = shape;
      of_rows.back() = 1;
      auto x = numbers(count, 1, -3, 3);
      x[3] = std::numeric_limits<float>::quiet_NaN();
      x[4] = std::numeric_limits<float>::infinity();
      for (const bool is_row_tiled : {true, false}) {
        const RequantizeShape& scales = is_row_tiled ? of_rows : RequantizeShape{};
        const auto s = numbers(product(scales), 2, 30, 60);
        for (const End& end : {End{DType::i8, 1, false, 0}, End{DType::u8, 2.5, false, 17}}) {
          NodeRun run(Op::pointwise);
          run.input(DType::f32, shape, x);
          run.input(DType::f32, scales, s);
          const Middle middle{
              "", [](Code& c, std::uint16_t v) { return f_requantize(c, Scalar::mul, v, loaded(c, 1)); }, nullptr};
          run.node().expr = expression(middle, end);
          const std::vector<Number> got = run.run().output();
          for (std::int64_t i = 0; i < count; ++i) {
            const float y = x[static_cast<std::size_t>(i)] * s[static_cast<std::size_t>(is_row_tiled ? i / row : 0)];
            ASSERT_EQ(got[static_cast<std::size_t>(i)].real(), stored(y, end)) << i;
          }
        }
      }
    }
  }
}

/// Results are stored directly, not by a second pass over floats.
TEST(Requantize, TakesNoFloatsOfTheWholeResult) {
  const std::int64_t m = 64, n = 64;
  for (const Middle& middle : kMiddles) {
    NodeRun run(Op::matmul);
    run.input(DType::u8, {m, 64}, bytes(m * 64, 1, DType::u8));
    run.input(DType::i8, {64, n}, bytes(64 * n, 2, DType::i8), {1, 64}, true);
    run.no_input();
    for (int i = 0; i < 3; ++i) run.input(DType::f32, {n}, numbers(n, 5, 0, 1));
    run.input(DType::f32, {m, 1}, numbers(m, 8, 0, 1));
    run.input(DType::f32, {m, n}, numbers(m * n, 9, 0, 1));
    run.input(DType::u8, {m, n}, bytes(m * n, 3, DType::u8));
    run.input(DType::i8, {m, n}, bytes(m * n, 4, DType::i8));
    run.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f32));
    run.node().expr = expression(middle, kEndCases[0]);
    const bool chain = std::string_view(middle.name).substr(0, 2) != "no";
    EXPECT_EQ(run.run().scratch_bytes() < static_cast<std::size_t>(m * n * 4), chain) << middle.name;
  }
}

}  // namespace
}  // namespace tern::test
