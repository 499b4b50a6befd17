// Sparse matrices against dense ones; iterative methods by residuals and published eigenvalues.
#include <tern/sparse.h>

#include <algorithm>

#include "tests/runtime/linalg_matrices.h"

namespace tern::linalg_test {
namespace {

/// Rows x columns with about a third of the elements.
Tensor scattered(DType t, std::int64_t rows, std::int64_t columns, unsigned seed) {
  Tensor a = random_tensor(t, {rows, columns}, seed);
  std::mt19937 random(seed + 1);
  dispatch_type(t, [&](auto tag) {
    using T = decltype(tag);
    for (T& e : a.span<T>()) {
      if (random() % 3 != 0) e = T(0);
    }
  });
  return a;
}

/// The second difference on a square of side x side points: 4 on the diagonal, -1 for neighbours.
sparse::Csr laplacian(DType t, std::int64_t side) {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> numbers;
  const auto add = [&](std::int64_t r, std::int64_t c, double x) {
    rows.push_back(r), columns.push_back(c), numbers.push_back(x);
  };
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      const std::int64_t p = y * side + x;
      add(p, p, 4);
      if (x > 0) add(p, p - 1, -1), add(p - 1, p, -1);
      if (y > 0) add(p, p - side, -1), add(p - side, p, -1);
    }
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  Tensor r(DType::i64, {count}), c(DType::i64, {count}), v(t, {count});
  std::ranges::copy(rows, r.span<std::int64_t>().begin());
  std::ranges::copy(columns, c.span<std::int64_t>().begin());
  dispatch_type(t, [&](auto tag) {
    using T = decltype(tag);
    std::ranges::transform(numbers, v.span<T>().begin(), [](double x) { return T(static_cast<float>(x)); });
  });
  return sparse::from_coordinates(side * side, side * side, r, c, v);
}

Dense as_column(const Tensor& x) {
  return matrix(Tensor::borrow(x.data(), x.dtype(), {x.numel(), 1}), 0);
}

TEST(Sparse, ProductsAreThoseOfDenseMatrices) {
  for (const DType t : kTypes) {
    const Tensor a = scattered(t, 40, 25, 1), b = scattered(t, 25, 30, 2);
    const sparse::Csr x = sparse::from_dense(a), y = sparse::from_dense(b);
    EXPECT_EQ(norm(matrix(sparse::to_dense(x), 0) - matrix(a, 0)), 0);
    EXPECT_EQ(norm(matrix(sparse::to_dense(sparse::transpose(x, true)), 0) - adjoint(matrix(a, 0))), 0);
    const Dense product = matrix(a, 0) * matrix(b, 0);
    EXPECT_LE(norm(matrix(sparse::to_dense(sparse::multiply(x, y)), 0) - product), 10 * epsilon(t) * norm(product));
    EXPECT_LE(norm(matrix(sparse::multiply(x, b, {.threads = 3}), 0) - product), 10 * epsilon(t) * norm(product));
    const Tensor v = random_tensor(t, {40}, 3);
    const Dense image = adjoint(matrix(a, 0)) * as_column(v);
    EXPECT_LE(norm(as_column(sparse::multiply(x, v, {.transpose = linalg::Transpose::adjoint})) - image),
              10 * epsilon(t) * norm(image));
  }
}

TEST(Sparse, CoordinatesAddUp) {
  Tensor rows(DType::i32, {4}), columns(DType::i32, {4}), values(DType::f64, {4});
  const std::int32_t r[] = {2, 0, 2, 2}, c[] = {1, 1, 0, 1};
  std::ranges::copy(r, rows.span<std::int32_t>().begin());
  std::ranges::copy(c, columns.span<std::int32_t>().begin());
  for (std::size_t k = 0; k < 4; ++k) values.span<double>()[k] = static_cast<double>(k + 1);
  const sparse::Csr a = sparse::from_coordinates(3, 2, rows, columns, values);
  EXPECT_EQ(a.values().numel(), 3);
  const Dense dense = matrix(sparse::to_dense(a), 0);
  EXPECT_EQ(dense(2, 1), 5.0);
  EXPECT_EQ(dense(0, 1), 2.0);
  EXPECT_NE(message_of([&] { sparse::from_coordinates(2, 2, rows, columns, values); }).find("row 2 is outside 0 .. 1"),
            std::string::npos);
  EXPECT_NE(message_of([&] { sparse::Csr(3, 2, rows, columns, values); }).find("starts must rise"), std::string::npos);
  EXPECT_NE(message_of([&] { sparse::multiply(a, Tensor(DType::f64, {3})); }).find("[2]"), std::string::npos);
}

TEST(Sparse, TriangularSystems) {
  for (const DType t : kTypes) {
    Tensor a = scattered(t, 30, 30, 4);
    const Tensor b = random_tensor(t, {30, 2}, 5);
    Dense x = matrix(a, 0);
    for (std::size_t k = 0; k < 30; ++k) x(k, k) = 4;
    store(a, 0, x);
    const sparse::Csr m = sparse::from_dense(a);
    for (const bool upper : {false, true}) {
      for (const bool unit : {false, true}) {
        for (const auto op : {linalg::Transpose::none, linalg::Transpose::adjoint}) {
          Dense triangle = x;
          for (std::size_t r = 0; r < 30; ++r) {
            for (std::size_t c = 0; c < 30; ++c) {
              if (upper ? c < r : c > r) triangle(r, c) = 0;
              if (unit && r == c) triangle(r, c) = 1;
            }
          }
          if (op == linalg::Transpose::adjoint) triangle = adjoint(triangle);
          const Dense found =
              matrix(sparse::triangular_solve(m, b, {.upper = upper, .unitriangular = unit, .transpose = op}), 0);
          EXPECT_LE(norm(triangle * found - matrix(b, 0)), 10 * epsilon(t) * norm(triangle) * norm(found));
        }
      }
    }
    x(7, 7) = 0;
    store(a, 0, x);
    EXPECT_NE(message_of([&] { sparse::triangular_solve(sparse::from_dense(a), b); }).find("row 7 has a zero"),
              std::string::npos);
  }
}

TEST(Sparse, IterationsSolveSystems) {
  for (const DType t : kTypes) {
    const sparse::Csr a = laplacian(t, 15);
    const Tensor b = random_tensor(t, {225}, 6);
    const double rtol = epsilon(t) * 100;
    // The diagonal of a shifted matrix as preconditioner.
    const sparse::Operator quarter = [](const Tensor& r) {
      Tensor y = r.clone();
      dispatch_type(r.dtype(), [&](auto tag) {
        using T = decltype(tag);
        for (T& e : y.span<T>()) e *= T(0.25F);
      });
      return y;
    };
    for (const sparse::Operator& preconditioner : {sparse::Operator(), quarter}) {
      const sparse::IterationOptions o{.rtol = rtol, .preconditioner = preconditioner};
      const sparse::IterationResult c = sparse::cg(sparse::operator_of(a), b, o);
      const sparse::IterationResult g = sparse::gmres(sparse::operator_of(a), b, o);
      for (const sparse::IterationResult& r : {c, g}) {
        EXPECT_TRUE(r.converged) << r.residual;
        const Dense x = as_column(r.x), residual = matrix(sparse::to_dense(a), 0) * x - as_column(b);
        EXPECT_LE(norm(residual), 20 * rtol * norm(as_column(b)));
        EXPECT_NEAR(norm(residual), r.residual, 20 * epsilon(t) * 8 * norm(x));
      }
      EXPECT_LT(c.iterations, 80);
      const sparse::IterationResult again = sparse::cg(sparse::operator_of(a), b, {.rtol = 10 * rtol, .start = c.x});
      EXPECT_EQ(again.iterations, 0);
    }
    const sparse::IterationResult few = sparse::gmres(sparse::operator_of(a), b, {.rtol = rtol, .most_iterations = 3});
    EXPECT_FALSE(few.converged);
    EXPECT_EQ(few.iterations, 3);
  }
  // A matrix without symmetry; the shift of a vector needs all dimensions.
  Tensor shift(DType::f64, {20, 20});
  for (std::size_t k = 0; k < 20; ++k) shift.span<double>()[k * 20 + (k + 1) % 20] = 1;
  const Tensor b = random_tensor(DType::f64, {20}, 7);
  const sparse::Operator turn = sparse::operator_of(sparse::from_dense(shift));
  const sparse::IterationResult r = sparse::gmres(turn, b, {.rtol = 1e-12});
  EXPECT_TRUE(r.converged);
  EXPECT_FALSE(sparse::gmres(turn, b, {.rtol = 1e-12, .restart = 5}).converged);  // stagnates
  EXPECT_NE(message_of([&] { sparse::cg(turn, b); }).find("not positive definite"), std::string::npos);
  const sparse::Operator wrong = [](const Tensor&) { return Tensor(DType::f64, {3}); };
  EXPECT_NE(message_of([&] { sparse::cg(wrong, b); }).find("the operator returned another type"), std::string::npos);
  EXPECT_TRUE(sparse::cg(turn, Tensor(DType::f64, {20})).converged);  // zeros
}

TEST(Sparse, FactorsSolveForEachTranspose) {
  const std::int64_t n = 60;
  for (const DType t : kTypes) {
    Tensor dense = scattered(t, n, n, 10);
    dispatch_type(t, [&](auto tag) {
      using T = decltype(tag);
      for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) dense.span<T>()[k * (n + 1)] += T(8);
    });
    const sparse::Factorization factors(sparse::from_dense(dense));
    EXPECT_GT(factors.rcond(), 1e-3);
    const Dense a = matrix(dense, 0),
                transposed = matrix(sparse::to_dense(sparse::transpose(sparse::from_dense(dense))), 0);
    const std::pair<linalg::Transpose, Dense> operators[] = {{linalg::Transpose::none, a},
                                                             {linalg::Transpose::transpose, transposed},
                                                             {linalg::Transpose::adjoint, adjoint(a)}};
    for (const std::int64_t columns : {1, 3}) {
      const Tensor b = random_tensor(t, {n, columns}, 11);
      for (const auto& [transpose, op] : operators) {
        const Dense x = matrix(factors.solve(b, transpose), 0);
        EXPECT_LE(norm(op * x - matrix(b, 0)), 10 * epsilon(t) * norm(op) * norm(x));
      }
    }
    const Tensor vector = random_tensor(t, {n}, 12);
    EXPECT_EQ(factors.solve(vector).sizes(), vector.sizes());
    EXPECT_LE(norm(a * as_column(factors.solve(vector)) - as_column(vector)),
              100 * epsilon(t) * norm(as_column(vector)));
  }
}

TEST(Sparse, FactorsOfAGridAndWrongMatrices) {
  // 10,000 points; elements in any order, some of one place.
  const sparse::Csr grid = laplacian(DType::f64, 100);
  const Tensor b = random_tensor(DType::f64, {10000}, 13);
  const Tensor x = sparse::Factorization(grid).solve(b);
  EXPECT_LE(norm(as_column(sparse::multiply(grid, x)) - as_column(b)), 1e-12 * norm(as_column(x)));
  Tensor starts(DType::i64, {3}), indices(DType::i64, {5}), values(DType::f64, {5});
  std::ranges::copy(std::vector<std::int64_t>{0, 3, 5}, starts.span<std::int64_t>().begin());
  std::ranges::copy(std::vector<std::int64_t>{1, 0, 0, 1, 0}, indices.span<std::int64_t>().begin());
  std::ranges::copy(std::vector<double>{1, 2, 1, 4, 1}, values.span<double>().begin());  // [[3, 1], [1, 4]]
  Tensor two(DType::f64, {2});
  std::ranges::copy(std::vector<double>{5, 9}, two.span<double>().begin());
  const Tensor solved = sparse::Factorization({2, 2, starts, indices, values}).solve(two);
  EXPECT_NEAR(solved.span<const double>()[0], 1, 1e-15);
  EXPECT_NEAR(solved.span<const double>()[1], 2, 1e-15);

  const auto problem = [](const Tensor& a) {
    return message_of([&] { sparse::Factorization factors(sparse::from_dense(a)); });
  };
  Tensor singular(DType::f64, {2, 2}), infinite(DType::f64, {2, 2});
  singular.span<double>()[0] = infinite.span<double>()[0] = 1;
  infinite.span<double>()[3] = std::numeric_limits<double>::infinity();
  EXPECT_NE(problem(singular).find("singular"), std::string::npos);
  EXPECT_NE(problem(infinite).find("NaN or infinities"), std::string::npos);
  EXPECT_NE(problem(Tensor(DType::f64, {2, 3})).find("square"), std::string::npos);
  EXPECT_NE(message_of([&] { sparse::Factorization(grid).solve(two); }).find("[10000]"), std::string::npos);
}

TEST(Sparse, LobpcgFindsTheEigenvaluesOfTheLaplacian) {
  for (const DType t : kTypes) {
    const std::int64_t side = 10;
    const sparse::Csr a = laplacian(t, side);
    std::vector<double> expected;  // 4 - 2 cos(i pi / 11) - 2 cos(j pi / 11)
    for (int i = 1; i <= side; ++i) {
      for (int j = 1; j <= side; ++j)
        expected.push_back(4 - 2 * std::cos(i * std::numbers::pi / 11) - 2 * std::cos(j * std::numbers::pi / 11));
    }
    std::ranges::sort(expected);
    const Tensor start = random_tensor(t, {side * side, 4}, 8);
    for (const bool largest : {false, true}) {
      const sparse::LobpcgResult r =
          sparse::lobpcg(sparse::operator_of(a), start, {.largest = largest, .most_iterations = 500});
      EXPECT_TRUE(r.converged);
      const Dense v = matrix(r.vectors, 0);
      EXPECT_LE(norm(adjoint(v) * v - identity(4)), 100 * epsilon(t));
      for (std::size_t k = 0; k < 4; ++k) {
        const double found = t == DType::f32 || t == DType::c64 ? static_cast<double>(r.values.span<const float>()[k])
                                                                : r.values.span<const double>()[k];
        EXPECT_NEAR(found, largest ? expected[expected.size() - 1 - k] : expected[k],
                    t == DType::f32 || t == DType::c64 ? 1e-4 : 1e-10);
      }
    }
  }
  // A = diag(1 .. 12), B = 2: values k / 2; as many vectors as rows.
  Tensor diagonal(DType::f64, {12, 12}), two(DType::f64, {12, 12});
  for (std::size_t k = 0; k < 12; ++k)
    diagonal.span<double>()[k * 13] = static_cast<double>(k + 1), two.span<double>()[k * 13] = 2;
  for (const std::int64_t k : {2, 12}) {
    const sparse::LobpcgResult r =
        sparse::lobpcg(sparse::operator_of(sparse::from_dense(diagonal)), random_tensor(DType::f64, {12, k}, 9),
                       {.rtol = 1e-10, .b = sparse::operator_of(sparse::from_dense(two))});
    EXPECT_TRUE(r.converged);
    for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i)
      EXPECT_NEAR(r.values.span<const double>()[i], (12.0 - static_cast<double>(i)) / 2, 1e-12);
    EXPECT_NEAR(norm(matrix(r.vectors, 0)), std::sqrt(static_cast<double>(k) / 2), 1e-12);
  }
  EXPECT_NE(message_of([&] {
              sparse::lobpcg(sparse::operator_of(sparse::from_dense(two)), Tensor(DType::f64, {12, 2}));
            }).find("dependent"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::linalg_test
