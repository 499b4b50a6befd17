// Lowerings of linear algebra and Fourier transforms, checked by the operators' defining identities.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "tests/runtime/lowered_call.h"

namespace tern::testing {
namespace {

using Sizes = LoweredCall::Sizes;
using Numbers = LoweredCall::Numbers;

void expect_near(const Numbers& got, const Numbers& expected, double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

TEST(LinalgLowering, Determinants) {
  // A cycle of three rows is two swaps; an exchange of two rows is one swap.
  expect_near(LoweredCall("aten.linalg_det.default")
                  .tensor("A", {2, 3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 5})
                  .values(),
              {1, -10});
  expect_near(LoweredCall("aten.det.default").tensor("self", {0, 0}, {}).values(), {1});
  const auto slog = [] { return LoweredCall("aten.linalg_slogdet.default").tensor("A", {2, 2}, {0, 2, 3, 0}); };
  expect_near(slog().values(0), {-1});
  expect_near(slog().values(1), {std::log(6.0)});
  EXPECT_TRUE(std::isnan(LoweredCall("aten.logdet.default").tensor("self", {2, 2}, {0, 2, 3, 0}).values()[0]));
  expect_near(LoweredCall("aten.logdet.default").tensor("self", {2, 2}, {2, 0, 0, 3}).values(), {std::log(6.0)});
  // i times the identity: the sign is i^2, the logarithm 0.
  const auto complex = [] {
    return LoweredCall("aten.linalg_slogdet.default").tensor("A", {2, 2}, {0, 1, 0, 0, 0, 0, 0, 1}, DType::c128);
  };
  expect_near(complex().values(0), {-1, 0});
  expect_near(complex().values(1), {0});
}

TEST(LinalgLowering, LuParts) {
  const Numbers a = {1, 2, 3, 4, 5, 7};  // 3 x 2
  const auto parts = [&] { return LoweredCall("aten.linalg_lu.default").tensor("A", {3, 2}, a).flag("pivot", true); };
  const Numbers p = parts().values(0), l = parts().values(1), u = parts().values(2);
  ASSERT_EQ(p.size(), 9u);
  ASSERT_EQ(l.size(), 6u);
  ASSERT_EQ(u.size(), 4u);
  Numbers product(6);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t k = 0; k < 2; ++k) product[r * 2 + c] += p[r * 3 + i] * l[i * 2 + k] * u[k * 2 + c];
      }
    }
  }
  expect_near(product, a);
}

TEST(LinalgLowering, Cholesky) {
  // A = [[4, 2], [2, 5]] = L L^T with L = [[2, 0], [1, 2]].
  expect_near(
      LoweredCall("aten.cholesky_inverse.default").tensor("self", {2, 2}, {2, 0, 1, 2}).flag("upper", false).values(),
      {5.0 / 16, -2.0 / 16, -2.0 / 16, 4.0 / 16});
  expect_near(
      LoweredCall("aten.cholesky_inverse.default").tensor("self", {2, 2}, {2, 1, 0, 2}).flag("upper", true).values(),
      {5.0 / 16, -2.0 / 16, -2.0 / 16, 4.0 / 16});
  expect_near(LoweredCall("aten.cholesky_solve.default")
                  .tensor("self", {2, 1}, {8, 12})
                  .tensor("input2", {2, 2}, {2, 0, 1, 2})
                  .flag("upper", false)
                  .values(),
              {1, 2});
}

TEST(LinalgLowering, MatrixPowers) {
  const auto power = [](std::int64_t n) {
    return LoweredCall("aten.linalg_matrix_power.default")
        .tensor("self", {2, 2}, {1, 1, 0, 2})
        .integer("n", n)
        .values();
  };
  expect_near(power(0), {1, 0, 0, 1});
  expect_near(power(1), {1, 1, 0, 2});
  expect_near(power(3), {1, 7, 0, 8});
  expect_near(power(10), {1, 1023, 0, 1024});
  expect_near(power(-2), {1, -0.75, 0, 0.25});
}

TEST(LinalgLowering, PseudoinverseAndRank) {
  const Numbers a = {1, 2, 2,
                     4, 3, 6};  // rank 1: u v^T with u = (1, 2, 3), v = (1, 2); the pseudoinverse is v u^T / 70
  Numbers expected;
  for (const double v : {1, 2}) {
    for (const double u : {1, 2, 3}) expected.push_back(v * u / 70);
  }
  expect_near(LoweredCall("aten.linalg_pinv.atol_rtol_float")
                  .tensor("self", {3, 2}, a)
                  .none("atol")
                  .none("rtol")
                  .flag("hermitian", false)
                  .values(),
              expected);
  expect_near(LoweredCall("aten.linalg_pinv.default")
                  .tensor("self", {3, 2}, a)
                  .number("rcond", 1e-9)
                  .flag("hermitian", false)
                  .values(),
              expected);
  expect_near(LoweredCall("aten.pinverse.default").tensor("self", {3, 2}, a).number("rcond", 1e-9).values(), expected);
  const auto rank = [&](double tolerance) {
    return LoweredCall("aten.linalg_matrix_rank.default")
        .tensor("self", {2, 2}, {3, 0, 0, 1})
        .number("tol", tolerance)
        .flag("hermitian", true)
        .values(0, DType::i64);
  };
  expect_near(rank(0.5), {2});
  expect_near(rank(2), {1});
}

TEST(LinalgLowering, NormsAndConditions) {
  const Numbers a = {3, 0, 0, -4};
  const auto norm = [&](double ord) {
    return LoweredCall("aten.linalg_norm.default")
        .tensor("self", {2, 2}, a)
        .number("ord", ord)
        .none("dim")
        .flag("keepdim", false)
        .none("dtype")
        .values();
  };
  expect_near(norm(2), {4});
  expect_near(norm(-2), {3});
  expect_near(norm(1), {4});
  expect_near(norm(-INFINITY), {3});
  expect_near(LoweredCall("aten.nuclear_norm.default").tensor("self", {2, 2}, a).flag("keepdim", true).values(), {7});
  const auto condition = [&](double p) {
    return LoweredCall("aten.linalg_cond.default").tensor("self", {2, 2}, a).number("p", p).values();
  };
  for (const double p : {2.0, 1.0, static_cast<double>(INFINITY)}) expect_near(condition(p), {4.0 / 3});
  expect_near(condition(-2), {0.75});
  expect_near(LoweredCall("aten.linalg_cond.p_str").tensor("self", {2, 2}, a).text("p", "fro").values(), {25.0 / 12});
  expect_near(LoweredCall("aten.linalg_cond.p_str").tensor("self", {2, 2}, a).text("p", "nuc").values(), {49.0 / 12});
  EXPECT_TRUE(std::isinf(
      LoweredCall("aten.linalg_cond.default").tensor("self", {2, 2}, {1, 1, 1, 1}).number("p", 1).values()[0]));
}

TEST(LinalgLowering, Eigenvalues) {
  // A rotation by 90 degrees.
  const Numbers w =
      LoweredCall("aten.linalg_eigvals.default").tensor("self", {2, 2}, {0, -1, 1, 0}).values(0, DType::c128);
  expect_near({w[0], std::fabs(w[1]), w[2], std::fabs(w[3])}, {0, 1, 0, 1});
  EXPECT_LT(w[1] * w[3], 0);
  const auto zeros = LoweredCall("aten.svd.default")
                         .tensor("self", {3, 2}, {1, 2, 2, 4, 3, 6})
                         .flag("some", true)
                         .flag("compute_uv", false)
                         .results();
  EXPECT_EQ(zeros[0].sizes().size(), 2u);
  for (const double x : zeros[0].span<double>()) EXPECT_EQ(x, 0);
  expect_near({zeros[1].span<double>().begin(), zeros[1].span<double>().end()}, {std::sqrt(70.0), 0}, 1e-14);
}

TEST(LinalgLowering, PolarFactorsAndRoots) {
  // A rotation by 90 degrees times diag(2, 3).
  const auto polar = LoweredCall("aten.linalg_polar.default").tensor("A", {2, 2}, {0, -3, 2, 0}).run();
  expect_near(polar[0], {0, -1, 1, 0});
  expect_near(polar[1], {2, 0, 0, 3});
  expect_near(LoweredCall("aten.linalg_matrix_sqrth.default").tensor("self", {2, 2}, {5, 4, 4, 5}).values(),
              {2, 1, 1, 2});
}

TEST(LinalgLowering, LeastSquaresOfAVector) {
  const auto solution = LoweredCall("aten.linalg_lstsq.default")
                            .tensor("self", {3, 2}, {1, 0, 1, 1, 1, 2})
                            .tensor("b", {3}, {1, 2, 4})
                            .none("rcond")
                            .text("driver", "gelsd")
                            .run();
  // The line through (0, 1), (1, 2), (2, 4): 5/6 + 3/2 x, with residual 1/6.
  expect_near(solution[0], {5.0 / 6, 1.5});
  expect_near(solution[1], {1.0 / 6});
  EXPECT_EQ(solution[2].at(0), 2);
}

TEST(LinalgLowering, FactorsOfTheTransposedMatrixSolveTheSame) {
  const auto all = LoweredCall("aten._linalg_solve_ex.default")
                       .tensor("A", {2, 2}, {1, 2, 3, 4})
                       .tensor("B", {2}, {5, 11})
                       .flag("left", true)
                       .flag("check_errors", false)
                       .run();
  expect_near(all[0], {1, 2});
  // The factors of [[1, 3], [2, 4]] from PyTorch, for a row-major matrix.
  expect_near(all[1], {2, 4, 0.5, 1});
}

TEST(LinalgLowering, ErrorsOfFactorizationsFailTheRun) {
  const auto check = [](double info) {
    return LoweredCall("aten._linalg_check_errors.default")
        .tensor("info", {2}, {0, info}, DType::i32)
        .text("api_name", "linalg.inv")
        .flag("is_matrix", false);
  };
  EXPECT_NO_THROW(check(0).run());
  EXPECT_THROW(check(2).run(), Error);
  EXPECT_THROW(LoweredCall("aten.linalg_inv.default").tensor("A", {2, 2}, {1, 1, 1, 1}).run(), Error);
}

TEST(LinalgLowering, VandermondeAndCross) {
  expect_near(
      LoweredCall("aten.vander.default").tensor("x", {2}, {2, 3}).integer("N", 3).flag("increasing", false).values(),
      {4, 2, 1, 9, 3, 1});
  expect_near(LoweredCall("aten.linalg_vander.default").tensor("x", {2}, {2, 3}).integer("N", 3).values(),
              {1, 2, 4, 1, 3, 9});
  expect_near(LoweredCall("aten.cross.default")
                  .tensor("self", {2, 3}, {1, 0, 0, 0, 1, 0})
                  .tensor("other", {2, 3}, {0, 1, 0, 0, 0, 1})
                  .none("dim")
                  .values(),
              {0, 0, 1, 1, 0, 0});
}

TEST(FftLowering, ShiftsAndFrequencies) {
  const auto shift = [](const char* name, Numbers x) {
    const auto n = static_cast<std::int64_t>(x.size());
    return LoweredCall(name).tensor("self", {n}, x).none("dim").values();
  };
  expect_near(shift("aten.fft_fftshift.default", {0, 1, 2, -2, -1}), {-2, -1, 0, 1, 2});
  expect_near(shift("aten.fft_ifftshift.default", {-2, -1, 0, 1, 2}), {0, 1, 2, -2, -1});
  expect_near(shift("aten.fft_fftshift.default", {0, 1, -2, -1}), {-2, -1, 0, 1});
  const auto frequencies = [](const char* name, std::int64_t n) {
    return LoweredCall(name).integer("n", n).number("d", 0.5).values();
  };
  expect_near(frequencies("aten.fft_fftfreq.default", 4), {0, 0.5, -1, -0.5});
  expect_near(frequencies("aten.fft_fftfreq.default", 5), {0, 0.4, 0.8, -0.8, -0.4});
  expect_near(frequencies("aten.fft_rfftfreq.default", 5), {0, 0.4, 0.8});
}

TEST(FftLowering, SizesAreCutAndFilledUp) {
  const auto fft = [](std::int64_t n) {
    return LoweredCall("aten.fft_fft.default")
        .tensor("self", {3}, {1, 2, 4})
        .integer("n", n)
        .integer("dim", -1)
        .none("norm")
        .values(0, DType::c128);
  };
  expect_near(fft(1), {1, 0});
  expect_near(fft(2), {3, 0, -1, 0});
  expect_near(fft(4), {7, 0, -3, -2, 3, 0, -3, 2});
}

Numbers window(std::int64_t n) {
  Numbers w;
  for (std::int64_t i = 0; i < n; ++i)
    w.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n)));
  return w;
}

TEST(FftLowering, ShortTimeTransformsUndoEachOther) {
  struct Case {
    bool half, normalized;
    std::int64_t size, hop, window;
  };
  for (const Case& k :
       {Case{true, false, 8, 2, 8}, {false, false, 8, 2, 8}, {true, true, 16, 4, 12}, {true, false, 7, 2, 7}}) {
    Numbers x;
    for (int i = 0; i < 64; ++i) x.push_back(std::sin(0.3 * i * i));
    LoweredCall forward("aten.stft.center");
    forward.tensor("self", {2, 32}, x)
        .integer("n_fft", k.size)
        .integer("hop_length", k.hop)
        .integer("win_length", k.window);
    forward.tensor("window", {k.window}, window(k.window)).flag("center", true).text("pad_mode", "reflect");
    forward.flag("normalized", k.normalized)
        .flag("onesided", k.half)
        .flag("return_complex", true)
        .none("align_to_window");
    const std::vector<Tensor> spectrum = forward.results(DType::c128);
    EXPECT_EQ(spectrum[0].sizes()[1], k.half ? k.size / 2 + 1 : k.size);
    Numbers pairs;
    for (const std::complex<double> v : spectrum[0].span<std::complex<double>>()) {
      pairs.push_back(v.real());
      pairs.push_back(v.imag());
    }
    const auto sizes = spectrum[0].sizes();
    LoweredCall back("aten.istft.default");
    back.tensor("self", Sizes(sizes.begin(), sizes.end()), pairs, DType::c128);
    back.integer("n_fft", k.size).integer("hop_length", k.hop).integer("win_length", k.window);
    back.tensor("window", {k.window}, window(k.window)).flag("center", true).flag("normalized", k.normalized);
    back.flag("onesided", k.half).integer("length", 32).flag("return_complex", false);
    expect_near(back.values(), x, 1e-12);
  }
}

}  // namespace
}  // namespace tern::testing
