// Factorizations run by the vendor's solvers in a session: unsupported cases and residuals. TERN_TEST_NEEDS names the
// device (tests/scripts/device.sh sets up the rest).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tern/graph.h>
#include <tern/tern.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "schema/linalg_kinds.h"
#include "schema/passes/dead_code.h"
#include "tests/gpu/libraries/solvers/call.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using namespace testing;
using Number = std::complex<double>;

const char* device() {
  return std::getenv("TERN_TEST_NEEDS");
}
bool is_cuda() {
  return std::string(device()) == "cuda";
}

template <class F>
F* emulator(const char* name) {
  void* driver = dlopen(is_cuda() ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<F*>(driver == nullptr ? nullptr : dlsym(driver, name));
}
std::uint64_t launches(const char* kernel) {
  auto* const count = emulator<std::uint64_t(const char*)>("tern_emulator_launches");
  return count == nullptr ? 0 : count(kernel);
}

/// A matrix, row-major.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<Number> e;
  Number& operator()(std::int64_t r, std::int64_t c) { return e[static_cast<std::size_t>(r * columns + c)]; }
  Number operator()(std::int64_t r, std::int64_t c) const { return e[static_cast<std::size_t>(r * columns + c)]; }
};
Matrix zeros(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, std::vector<Number>(static_cast<std::size_t>(rows * columns))};
}
Matrix adjoint(const Matrix& a) {
  Matrix t = zeros(a.columns, a.rows);
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < a.columns; ++c) t(c, r) = std::conj(a(r, c));
  return t;
}
Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix p = zeros(a.rows, b.columns);
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t c = 0; c < b.columns; ++c) p(r, c) += a(r, k) * b(k, c);
  return p;
}
/// The largest difference of elements.
double distance(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.e.size(), b.e.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.e.size(), b.e.size()); ++i) {
    const double d = std::abs(a.e[i] - b.e[i]);
    most = d > most || d != d ? d : most;
  }
  return most;
}
Matrix identity(std::int64_t n) {
  Matrix m = zeros(n, n);
  for (std::int64_t i = 0; i < n; ++i) m(i, i) = 1;
  return m;
}

double epsilon(DType t) {
  return t == DType::f32 || t == DType::c64 ? std::numeric_limits<float>::epsilon()
                                            : std::numeric_limits<double>::epsilon();
}

Matrix random(std::int64_t rows, std::int64_t columns, DType type, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix m = zeros(rows, columns);
  for (Number& x : m.e) {
    const float re = normal(engine);
    x = Number(re, is_complex(type) ? normal(engine) : 0.0f);
  }
  return m;
}

template <class T>
void store_elements(const std::vector<Matrix>& from, Tensor& to) {
  T* at = to.span<T>().data();
  for (const Matrix& m : from) {
    for (const Number& x : m.e) {
      if constexpr (std::is_floating_point_v<T>) {
        *at++ = static_cast<T>(x.real());
      } else {
        *at++ = T(x);
      }
    }
  }
}
Tensor tensor(const std::vector<Matrix>& all, DType type) {
  Tensor t(type, {static_cast<std::int64_t>(all.size()), all[0].rows, all[0].columns});
  if (type == DType::f32) store_elements<float>(all, t);
  if (type == DType::f64) store_elements<double>(all, t);
  if (type == DType::c64) store_elements<std::complex<float>>(all, t);
  if (type == DType::c128) store_elements<std::complex<double>>(all, t);
  return t;
}
template <class T>
std::vector<Number> numbers(const Tensor& t) {
  const auto s = t.span<const T>();
  return {s.begin(), s.end()};
}
/// The result's matrices; vectors are columns.
std::vector<Matrix> matrices(const Tensor& t) {
  std::vector<Number> all;
  if (t.dtype() == DType::f32) all = numbers<float>(t);
  if (t.dtype() == DType::f64) all = numbers<double>(t);
  if (t.dtype() == DType::c64) all = numbers<std::complex<float>>(t);
  if (t.dtype() == DType::c128) all = numbers<std::complex<double>>(t);
  const auto sizes = t.sizes();
  const std::int64_t rows = sizes[1], columns = sizes.size() > 2 ? sizes[2] : 1;
  std::vector<Matrix> made;
  for (std::int64_t b = 0; b < sizes[0]; ++b)
    made.push_back({rows, columns, {all.begin() + b * rows * columns, all.begin() + (b + 1) * rows * columns}});
  return made;
}

const char* solver_variable() {
  return is_cuda() ? "TERN_CUDA_SOLVER" : "TERN_ROCM_SOLVER";
}
/// Routine of this process: the plugin reads the variable once.
std::string routine() {
  const char* const text = std::getenv(solver_variable());
  return text == nullptr ? "" : text;
}

class SolverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device() == nullptr) GTEST_SKIP() << "TERN_TEST_NEEDS names no device";
  }
  void TearDown() override {
    for (const char* name : {"TERN_STAND_IN_LEAVES", "TERN_STAND_IN_FAILS", "TERN_STAND_IN_WORK"}) unsetenv(name);
  }
  /// True in a process with a routine. Elsewhere runs the test in a process for each of these routines.
  static bool has_routine(std::initializer_list<const char*> routines) {
    if (!routine().empty()) return true;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* name : routines) {
      const std::string command = std::string("env ") + solver_variable() + "=" + name + " '" + program +
                                  "' --gtest_brief=1 --gtest_filter=SolverTest." + test;
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }
    return false;
  }

  /// A program for a batch. With `is_transposed` the operand's columns are contiguous: transposes the batch.
  static Model model_of(Op op, std::vector<Matrix>& batch, DType type, const std::vector<Attr>& attributes,
                        bool is_transposed) {
    TestProgram p;
    if (is_transposed)
      for (Matrix& m : batch) {
        m = adjoint(m);
        for (Number& x : m.e) x = std::conj(x);
      }
    const ValueId x =
        p.input(type, {Dim(static_cast<std::int64_t>(batch.size())), Dim(batch[0].rows), Dim(batch[0].columns)});
    const std::vector<ValueId> outputs = p.b().add_all(op, {is_transposed ? p.b().transpose(x, 1, 2) : x}, attributes);
    for (const ValueId v : outputs) p.output(v);
    return p.model();
  }
  static std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
    std::vector<Tensor> results;
    for (const Tensor& t : tensors) {
      results.emplace_back(t.dtype(), t.sizes());
      std::memcpy(results.back().data(), t.data(), t.byte_size());
    }
    return results;
  }

  /// The results for a batch.
  std::vector<Tensor> run(Op op, std::vector<Matrix> batch, DType type, const std::vector<Attr>& attributes,
                          bool is_transposed = false) {
    PrepareOptions options;
    options.device = device();
    Session session(model_of(op, batch, type, attributes, is_transposed).prepare(options));
    session.run({tensor(batch, type)});  // the driver is open then
    const std::uint64_t before = launches(stand_in::kSolverKernel);
    std::vector<Tensor> results = copies(session.run({tensor(batch, type)}));
    calls = launches(stand_in::kSolverKernel) - before;
    return results;
  }
  /// The results by Tern's kernels: a graph holds no solver.
  std::vector<Tensor> run_own(Op op, std::vector<Matrix> batch, DType type, const std::vector<Attr>& attributes,
                              bool is_transposed = false) {
    PrepareOptions options;
    options.device = device();
    Session session(model_of(op, batch, type, attributes, is_transposed).prepare(options), Stream(device()));
    const std::vector<Tensor> inputs = {tensor(batch, type)};
    Graph graph;
    graph.capture_begin(session.stream());
    const std::vector<Tensor>& outputs = session.run(inputs);
    graph.capture_end();
    const std::uint64_t before = launches(stand_in::kSolverKernel);
    graph.replay();
    session.stream().synchronize();
    EXPECT_EQ(launches(stand_in::kSolverKernel), before);
    return copies(outputs);
  }

  std::uint64_t calls = 0;  ///< solver calls in the last run
};

constexpr double kBound = 32;  // units of epsilon, for matrices of about this many elements

Attr flag(AttrKey key, bool on) {
  return attr(key, Dim(on ? 1 : 0));
}
template <class E>
Attr choice(AttrKey key, E value) {
  return attr(key, Dim(static_cast<std::int64_t>(value)));
}

/// Hermitian; positive definite with a large `shift`. Solvers must read only the triangle selected by `upper`.
Matrix hermitian(std::int64_t n, DType type, unsigned seed, double shift) {
  const Matrix b = random(n, n, type, seed);
  Matrix a = adjoint(b);
  for (std::size_t i = 0; i < a.e.size(); ++i) a.e[i] = (a.e[i] + b.e[i]) * 0.5;
  for (std::int64_t i = 0; i < n; ++i) a(i, i) += shift;
  return a;
}
Matrix half(const Matrix& a, bool upper) {
  Matrix h = a;
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < a.columns; ++c)
      if (upper ? c < r : c > r) h(r, c) = std::numeric_limits<double>::quiet_NaN();
  return h;
}
Matrix triangle(Matrix a, bool upper) {
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < a.columns; ++c)
      if (upper ? c < r : c > r) a(r, c) = 0;
  return a;
}
std::vector<int> integers(const Tensor& t) {
  const auto s = t.span<const std::int32_t>();
  return {s.begin(), s.end()};
}

/// Each case is compiled, so the list is short; `tern conform` covers the other cases.
constexpr struct {
  DType type;
  const char* routine;
  bool is_transposed, is_on;
} kCases[] = {
    {DType::f32, "small", false, true},
    {DType::f64, "large", true, false},
    {DType::c64, "large", false, true},
    {DType::c128, "small", true, false},
};
/// Calls `test` for each case of this process's routine, with its index.
template <class Test>
void for_each_case(const Test& test) {
  std::size_t number = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(::testing::Message() << name_of(c.type) << " " << c.routine << " " << c.is_transposed << c.is_on);
    if (routine() == c.routine) test(c.type, c.is_transposed, c.is_on, number);
    ++number;
  }
}

TEST_F(SolverTest, Cholesky) {
  if (!has_routine({"small", "large"})) return;
  for_each_case([&](DType type, bool is_transposed, bool upper, std::size_t) {
    std::vector<Matrix> batch, given;
    for (unsigned b = 0; b < 7; ++b) {
      batch.push_back(hermitian(5, type, b, 8));
      given.push_back(half(batch.back(), upper));
    }
    const std::vector<Tensor> results = run(Op::cholesky, given, type, {flag(AttrKey::upper, upper)}, is_transposed);
    EXPECT_GT(calls, 0u);
    const std::vector<Matrix> factors = matrices(results[0]);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const Matrix& l = factors[b];
      EXPECT_EQ(distance(l, triangle(l, upper)), 0);
      EXPECT_LT(distance(upper ? adjoint(l) * l : l * adjoint(l), batch[b]), kBound * epsilon(type));
    }
    EXPECT_EQ(integers(results[1]), std::vector<int>(7, 0));
  });
}

TEST_F(SolverTest, Eigenvalues) {
  if (!has_routine({"small", "large"})) return;
  for_each_case([&](DType type, bool is_transposed, bool upper, std::size_t) {
    std::vector<Matrix> batch, given;
    for (unsigned b = 0; b < 7; ++b) {
      batch.push_back(hermitian(6, type, b, 0));
      given.push_back(half(batch.back(), upper));
    }
    const std::vector<Tensor> results = run(Op::eigh, given, type, {flag(AttrKey::upper, upper)}, is_transposed);
    EXPECT_EQ(calls, 1u);
    const std::vector<Matrix> values = matrices(results[0]), vectors = matrices(results[1]);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      Matrix scaled = vectors[b];
      for (std::int64_t r = 0; r < 6; ++r)
        for (std::int64_t c = 0; c < 6; ++c) scaled(r, c) *= values[b](c, 0);
      EXPECT_LT(distance(scaled * adjoint(vectors[b]), batch[b]), kBound * epsilon(type));
      EXPECT_LT(distance(adjoint(vectors[b]) * vectors[b], identity(6)), kBound * epsilon(type));
      for (std::int64_t i = 1; i < 6; ++i) EXPECT_LE(values[b](i - 1, 0).real(), values[b](i, 0).real());
    }
  });
}

TEST_F(SolverTest, Lu) {
  if (!has_routine({"small", "large"})) return;
  constexpr std::pair<int, int> kShapes[] = {{5, 5}, {6, 3}, {3, 6}, {5, 5}};
  for_each_case([&](DType type, bool is_transposed, bool, std::size_t number) {
    const auto [m, n] = kShapes[number];
    std::vector<Matrix> batch;
    for (unsigned b = 0; b < 4; ++b) batch.push_back(random(m, n, type, b));
    const std::vector<Tensor> results = run(Op::lu_factor, batch, type, {}, is_transposed);
    EXPECT_GT(calls, 0u);
    const std::vector<int> pivots = integers(results[1]);
    const int k = std::min(m, n);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const Matrix lu = matrices(results[0])[b];
      Matrix l = zeros(m, k), u = zeros(k, n);
      for (int r = 0; r < m; ++r)
        for (int c = 0; c < k; ++c) l(r, c) = r == c ? Number(1) : r > c ? lu(r, c) : Number(0);
      for (int r = 0; r < k; ++r)
        for (int c = r; c < n; ++c) u(r, c) = lu(r, c);
      Matrix swapped = batch[b];
      for (int i = 0; i < k; ++i) {
        const int other = pivots[b * static_cast<std::size_t>(k) + static_cast<std::size_t>(i)] - 1;
        for (int c = 0; c < n; ++c) std::swap(swapped(i, c), swapped(other, c));
      }
      EXPECT_LT(distance(l * u, swapped), kBound * epsilon(type));
    }
    EXPECT_EQ(integers(results[2]), std::vector<int>(4, 0));
  });
}

TEST_F(SolverTest, Qr) {
  if (!has_routine({"small", "large"})) return;
  constexpr struct {
    QrKind mode;
    int rows, columns;
  } kShapes[] = {{QrKind::reduced, 6, 3}, {QrKind::r, 3, 6}, {QrKind::complete, 6, 3}, {QrKind::reflectors, 6, 3}};
  for_each_case([&](DType type, bool is_transposed, bool, std::size_t number) {
    const auto [how, m, n] = kShapes[number];
    std::vector<Matrix> batch;
    for (unsigned b = 0; b < 3; ++b) batch.push_back(random(m, n, type, b));
    const std::vector<Tensor> results = run(Op::qr, batch, type, {choice(AttrKey::mode, how)}, is_transposed);
    EXPECT_GT(calls, 0u);
    const std::vector<Tensor> own = run_own(Op::qr, batch, type, {choice(AttrKey::mode, how)}, is_transposed);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      EXPECT_LT(distance(matrices(results[1])[b], matrices(own[1])[b]), kBound * epsilon(type));  // the same signs
      if (how == QrKind::r) continue;
      const Matrix q = matrices(results[0])[b];
      EXPECT_LT(distance(q, matrices(own[0])[b]), kBound * epsilon(type));
      if (how == QrKind::reflectors) continue;
      EXPECT_LT(distance(q * matrices(results[1])[b], batch[b]), kBound * epsilon(type));
      EXPECT_LT(distance(adjoint(q) * q, identity(q.columns)), kBound * epsilon(type));
    }
  });
}

TEST_F(SolverTest, SingularValues) {
  if (!has_routine({"small", "large"})) return;
  constexpr std::pair<int, int> kShapes[] = {{5, 5}, {40, 3}, {6, 3}, {3, 6}};
  for_each_case([&](DType type, bool is_transposed, bool full, std::size_t number) {
    const auto [m, n] = kShapes[number];
    std::vector<Matrix> batch;
    for (unsigned b = 0; b < 3; ++b) batch.push_back(random(m, n, type, b));
    const std::vector<Tensor> results = run(Op::svd, batch, type, {flag(AttrKey::full, full)}, is_transposed);
    const bool has = !is_cuda() || routine() == "large" || m <= 32;
    EXPECT_EQ(calls > 0, has);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const Matrix u = matrices(results[0])[b], s = matrices(results[1])[b], vh = matrices(results[2])[b];
      Matrix middle = zeros(u.columns, vh.rows);
      for (std::int64_t i = 0; i < s.rows; ++i) middle(i, i) = s(i, 0);
      EXPECT_LT(distance(u * middle * vh, batch[b]), 2 * kBound * epsilon(type));
      EXPECT_LT(distance(adjoint(u) * u, identity(u.columns)), kBound * epsilon(type));
      EXPECT_LT(distance(vh * adjoint(vh), identity(vh.rows)), kBound * epsilon(type));
      for (std::int64_t i = 1; i < s.rows; ++i) EXPECT_GE(s(i - 1, 0).real(), s(i, 0).real());
    }
  });
}

TEST_F(SolverTest, SingularValuesAlone) {
  if (!has_routine({"small", "large"})) return;
  std::vector<Matrix> batch;
  for (unsigned b = 0; b < 4; ++b) batch.push_back(random(4, 4, DType::f32, b));
  const Tensor all = std::move(run(Op::svd, batch, DType::f32, {})[1]);
  TestProgram p;
  p.output(p.b().add_all(Op::svd, {p.input(DType::f32, {4, 4, 4})})[1]);
  remove_dead_code(p.program());  // U and V
  PrepareOptions options;
  options.device = device();
  Session session(p.model().prepare(options));
  const std::uint64_t before = launches(stand_in::kSolverKernel);
  const Tensor& alone = session.run({tensor(batch, DType::f32)})[0];
  EXPECT_GT(launches(stand_in::kSolverKernel), before);
  for (std::size_t b = 0; b < 4; ++b)
    EXPECT_LT(distance(matrices(alone)[b], matrices(all)[b]), kBound * epsilon(DType::f32)) << routine();
}

TEST_F(SolverTest, WorkspacesHaveABound) {
  if (!has_routine({"small"})) return;
  // The stand-ins request 100 MiB per matrix: a call takes two matrices.
  std::vector<Matrix> batch;
  for (unsigned b = 0; b < 4; ++b) batch.push_back(hermitian(4, DType::f32, b, 8));
  const std::vector<float> expected = values_of(run(Op::eigh, batch, DType::f32, {})[0]);
  EXPECT_EQ(calls, 1u);
  setenv("TERN_STAND_IN_WORK", "100", 1);
  EXPECT_EQ(values_of(run(Op::eigh, batch, DType::f32, {})[0]), expected);
  EXPECT_EQ(calls, 2u);
  if (!is_cuda()) return;
  setenv("TERN_STAND_IN_WORK", "12000", 1);  // more elements than an int counts
  run(Op::eigh, batch, DType::f32, {});
  EXPECT_EQ(calls, 0u);
}

/// All results as bytes.
std::vector<std::byte> bytes_of(const std::vector<Tensor>& results, std::int64_t matrix, std::int64_t count) {
  std::vector<std::byte> bytes;
  for (const Tensor& t : results) {
    const auto size = static_cast<std::ptrdiff_t>(t.byte_size()) / count;
    const auto* const first = static_cast<const std::byte*>(t.data()) + matrix * size;
    bytes.insert(bytes.end(), first, first + size);
  }
  return bytes;
}

TEST_F(SolverTest, TernComputesWhatASolverLeaves) {
  if (!has_routine({"small", "large"})) return;
  std::vector<Matrix> batch;
  for (unsigned b = 0; b < 4; ++b) batch.push_back(hermitian(4, DType::f32, b, 8));
  setenv("TERN_STAND_IN_LEAVES", "1", 1);
  for (const Op op : {Op::cholesky, Op::eigh, Op::lu_factor, Op::svd}) {
    const std::vector<Tensor> own = run_own(op, batch, DType::f32, {});
    const std::vector<Tensor> all = run(op, batch, DType::f32, {});
    EXPECT_GT(calls, 0u);
    for (std::int64_t b = 0; b < 4; ++b) EXPECT_EQ(bytes_of(all, b, 4), bytes_of(own, b, 4)) << b;
  }
}

TEST_F(SolverTest, MatricesWithoutResultsAreTold) {
  if (!has_routine({"small", "large", "own"})) return;
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<Matrix> batch;
  for (unsigned b = 0; b < 4; ++b) batch.push_back(hermitian(4, DType::f32, b, 8));
  std::vector<Matrix> wrong = batch;
  wrong[1](2, 2) = -1;
  EXPECT_EQ(integers(run(Op::cholesky, wrong, DType::f32, {})[1]), (std::vector<int>{0, 3, 0, 0})) << routine();
  wrong = batch;
  for (int c = 0; c < 4; ++c) wrong[2](1, c) = 0;
  EXPECT_EQ(integers(run(Op::lu_factor, wrong, DType::f32, {})[2]), (std::vector<int>{0, 0, 4, 0})) << routine();
  struct Case {
    Op op;
    Number value;
    const char* message;
  };
  for (const Case& c : {Case{Op::cholesky, -1, "matrix 1 of the batch is not positive definite"},
                        {Op::lu_factor, 0, "matrix 1 of the batch is singular"},
                        {Op::eigh, nan, "matrix 1"},
                        {Op::svd, infinity, "matrix 1"}}) {
    wrong = batch;
    for (int i = 0; i < 4; ++i) wrong[1](2, i) = wrong[1](i, 2) = c.value;
    const bool has_check = c.op == Op::cholesky || c.op == Op::lu_factor;
    try {
      run(c.op, wrong, DType::f32, has_check ? std::vector<Attr>{flag(AttrKey::check, true)} : std::vector<Attr>{});
      FAIL() << c.message;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(c.message), std::string::npos) << routine() << ": " << e.what();
    }
  }
}

Model eigenvalues(std::int64_t n) {
  TestProgram p;
  const std::vector<ValueId> outputs = p.b().add_all(Op::eigh, {p.input(DType::f32, {3, Dim(n), Dim(n)})});
  for (const ValueId v : outputs) p.output(v);
  return p.model();
}

TEST_F(SolverTest, GraphsHaveTernsKernels) {
  if (!has_routine({"small", "own"})) return;
  PrepareOptions options;
  options.device = device();
  std::vector<Matrix> batch;
  for (unsigned b = 0; b < 3; ++b) batch.push_back(hermitian(4, DType::f32, b, 0));
  std::vector<Tensor> inputs = {tensor(batch, DType::f32)};
  Session session(eigenvalues(4).prepare(options), Stream(device()));
  Graph graph;
  graph.capture_begin(session.stream());
  const std::vector<Tensor>& outputs = session.run(inputs);
  graph.capture_end();
  for (int i = 0; i < 3; ++i) {
    for (float& x : inputs[0].span<float>()) x *= 2;
    const std::uint64_t before = launches(stand_in::kSolverKernel);
    graph.replay();
    session.stream().synchronize();
    EXPECT_EQ(launches(stand_in::kSolverKernel), before);
    Session other(eigenvalues(4).prepare(options));
    const std::vector<float> values = values_of(outputs[0]), expected = values_of(other.run(inputs)[0]);
    ASSERT_EQ(values.size(), expected.size());
    if (routine() == "own") {
      EXPECT_EQ(values, expected);
    }
    for (std::size_t k = 0; k < values.size(); ++k)
      EXPECT_LT(std::abs(values[k] - expected[k]), kBound * epsilon(DType::f32) * 100) << k;
  }
}

TEST_F(SolverTest, ReproducibleRunsTakeNone) {
  if (!has_routine({"small"})) return;
  PrepareOptions options;
  options.device = device();
  options.reproducible = true;
  Session session(eigenvalues(4).prepare(options));
  std::vector<Matrix> batch(3, hermitian(4, DType::f32, 1, 0));
  const std::uint64_t before = launches(stand_in::kSolverKernel);
  session.run({tensor(batch, DType::f32)});
  EXPECT_EQ(launches(stand_in::kSolverKernel), before);
}

TEST_F(SolverTest, TheTableChooses) {
  std::vector<Matrix> small(3, hermitian(4, DType::f32, 1, 8)), large(3, hermitian(64, DType::f32, 1, 64));
  run(Op::cholesky, small, DType::f32, {});
  EXPECT_EQ(calls, 0u);
  run(Op::cholesky, large, DType::f32, {});
  EXPECT_EQ(calls, 1u);
}

/// Library functions that create a solver of this process's routine, and functions that run one, by a part of their
/// names.
struct Functions {
  std::vector<const char*> preparing, running;
};
Functions functions() {
  const bool is_small = routine() == "small";
  Functions all;
  const auto add = [](std::vector<const char*>& list, std::initializer_list<const char*> more) {
    list.insert(list.end(), more);
  };
  if (!is_cuda()) {
    add(all.preparing, {"start_device_memory_size_query", "stop_device_memory_size_query"});
    add(all.running, {"rocblas_set_stream", "rocblas_set_workspace", "spotrf", "sgetrf", "sgeqrf", "sorgqr", "sgesvd",
                      is_small ? "ssyevj" : "ssyevd"});
    return all;
  }
  add(all.preparing, {"_bufferSize", "GesvdjInfo", "XgesvdjSetTolerance"});
  add(all.running, {"cusolverDnSetStream", "cublasSetStream", "cusolverDnSpotrf", "Sorgqr", "cusolverDnSgesvdj"});
  if (is_small) {
    add(all.preparing, {"SyevjInfo", "XsyevjSetTolerance"});
    add(all.running, {"SpotrfBatched", "SgetrfBatched", "SgeqrfBatched", "SsyevjBatched", "SgesvdjBatched"});
  } else {
    add(all.preparing, {"CreateParams"});
    add(all.running, {"cusolverDnSgetrf", "cusolverDnSgeqrf", "XsyevBatched"});
  }
  return all;
}

TEST_F(SolverTest, EveryFunctionMayFail) {
  if (!has_routine({"small", "large"})) return;
  std::vector<Matrix> batch;
  for (unsigned b = 0; b < 4; ++b) batch.push_back(hermitian(4, DType::f32, b, 8));
  const std::vector<Tensor> inputs = {tensor(batch, DType::f32)};
  PrepareOptions options;
  options.device = device();
  const auto fail = [](const char* function) { setenv("TERN_STAND_IN_FAILS", function, 1); };
  const Functions all = functions();
  std::vector<std::string> failed;
  for (const Op op : {Op::cholesky, Op::eigh, Op::lu_factor, Op::qr, Op::svd}) {
    TestProgram p;
    const std::vector<Attr> attributes =
        op == Op::qr ? std::vector<Attr>{choice(AttrKey::mode, QrKind::reduced)} : std::vector<Attr>{};
    for (const ValueId v : p.b().add_all(op, {p.input(DType::f32, {4, 4, 4})}, attributes)) p.output(v);
    const auto bytes = [&](Session& session) { return bytes_of(session.run(inputs), 0, 1); };
    const std::vector<std::byte> own = bytes_of(run_own(op, batch, DType::f32, attributes), 0, 1);
    Session session(p.model().prepare(options));
    const std::vector<std::byte> expected = bytes(session);
    for (const char* function : all.preparing) {
      fail(function);
      Session other(p.model().prepare(options));
      const std::uint64_t before = launches(stand_in::kSolverKernel);
      const std::vector<std::byte> results = bytes(other);
      const bool has_solver = launches(stand_in::kSolverKernel) != before;
      EXPECT_EQ(results, has_solver ? expected : own) << function;
      if (!has_solver) failed.emplace_back(function);
      unsetenv("TERN_STAND_IN_FAILS");
    }
    for (const char* function : all.running) {
      fail(function);
      try {
        EXPECT_EQ(bytes(session), expected) << function;
      } catch (const Error& e) {
        failed.emplace_back(function);
        const bool is_blas = std::string(function).starts_with("cublas") || std::string(function) == "SgetrfBatched" ||
                             std::string(function) == "SgeqrfBatched";
        const std::string library = !is_cuda() ? "rocSOLVER" : is_blas ? "cuBLAS" : "cuSOLVER";
        EXPECT_NE(std::string(e.what()).find(library + " error"), std::string::npos) << function << e.what();
        EXPECT_EQ(e.code() == ErrorCode::out_of_memory, is_blas) << e.what();  // 3 of cuBLAS, 3 of cuSOLVER
      }
      unsetenv("TERN_STAND_IN_FAILS");
      EXPECT_EQ(bytes(session), expected) << function;
    }
  }
  for (const auto& list : {all.preparing, all.running})
    for (const char* function : list) EXPECT_TRUE(std::ranges::find(failed, function) != failed.end()) << function;
}

TEST_F(SolverTest, AStreamWithoutHandlesGetsThemLater) {
  if (!has_routine({"small"})) return;
  PrepareOptions options;
  options.device = device();
  const auto prepared = eigenvalues(4).prepare(options);
  const std::vector<Tensor> inputs = {tensor(std::vector<Matrix>(3, hermitian(4, DType::f32, 1, 0)), DType::f32)};
  std::vector<std::unique_ptr<Session>> sessions;  // all alive, so that a session has a stream of no other test
  sessions.push_back(std::make_unique<Session>(prepared, Stream(device())));
  sessions.back()->run(inputs);  // creates the solver
  const std::vector<const char*> creators = is_cuda() ? std::vector<const char*>{"cusolverDnCreate", "cublasCreate"}
                                                      : std::vector<const char*>{"rocblas_create"};
  for (const char* function : creators) {
    bool has_failed = false;
    for (int i = 0; i < 200 && !has_failed; ++i) {
      sessions.push_back(std::make_unique<Session>(prepared, Stream(device())));
      setenv("TERN_STAND_IN_FAILS", function, 1);
      try {
        sessions.back()->run(inputs);
      } catch (const Error& e) {
        has_failed = true;
        EXPECT_NE(std::string(e.what()).find("for a stream"), std::string::npos) << e.what();
      }
      unsetenv("TERN_STAND_IN_FAILS");
      const std::uint64_t before = launches(stand_in::kSolverKernel);
      EXPECT_EQ(sessions.back()->run(inputs).size(), 2u);
      EXPECT_EQ(launches(stand_in::kSolverKernel), before + 1);
    }
    EXPECT_TRUE(has_failed) << function;
  }
}

/// Number of live handles of the stand-ins.
int handles() {
  int all = 0;
  for (const char* file : is_cuda() ? std::vector<const char*>{"libcusolver.so.12", "libcublas.so.13"}
                                    : std::vector<const char*>{"librocblas.so.4"}) {
    void* library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    auto* const count =
        reinterpret_cast<int (*)()>(library == nullptr ? nullptr : dlsym(library, "tern_stand_in_handles"));
    EXPECT_NE(count, nullptr) << file;
    if (count != nullptr) all += count();
  }
  return all;
}

TEST_F(SolverTest, HandlesEndWithTheirStream) {
  if (!has_routine({"small"})) return;
  PrepareOptions options;
  options.device = device();
  const auto prepared = eigenvalues(4).prepare(options);
  const std::vector<Tensor> inputs = {tensor(std::vector<Matrix>(3, hermitian(4, DType::f32, 1, 0)), DType::f32)};
  int before = 0;
  {
    Session session(prepared, Stream(device()));
    session.run(inputs);
    before = handles();
    for (int i = 0; i < 5; ++i) {
      Session other(prepared, Stream(device()));
      other.run(inputs);
      EXPECT_EQ(handles(), before + (is_cuda() ? 2 : 1));
    }
    EXPECT_EQ(handles(), before);
    // A failing destruction is ignored, and the stream is destroyed.
    Session last(prepared, Stream(device()));
    last.run(inputs);
    setenv("TERN_STAND_IN_FAILS", is_cuda() ? "cusolverDnDestroy" : "rocblas_destroy", 1);
  }
  unsetenv("TERN_STAND_IN_FAILS");
  Session session(prepared, Stream(device()));
  EXPECT_EQ(session.run(inputs).size(), 2u);
}

TEST_F(SolverTest, AnUnknownRoutineIsAnError) {
  if (!has_routine({"smal"})) return;
  PrepareOptions options;
  options.device = device();
  try {
    Session session(eigenvalues(4).prepare(options));
    session.run({tensor(std::vector<Matrix>(3, hermitian(4, DType::f32, 1, 0)), DType::f32)});
    ADD_FAILURE() << "a routine that is not there";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("_SOLVER is 'smal', not own, small or large"), std::string::npos) << e.what();
  }
}

TEST_F(SolverTest, EveryLaunchMayFail) {
  if (!has_routine({"small", "large"})) return;
  const char* launch = is_cuda() ? "cuLaunchKernel" : "hipModuleLaunchKernel";
  PrepareOptions options;
  options.device = device();
  std::vector<Matrix> batch;
  for (unsigned b = 0; b < 3; ++b) batch.push_back(hermitian(4, DType::f32, b, 0));
  const std::vector<Tensor> inputs = {tensor(batch, DType::f32)};
  Session session(eigenvalues(4).prepare(options));
  const std::vector<float> expected = values_of(session.run(inputs)[0]);
  std::uint64_t errors = 0;
  for (std::uint64_t n = 1; n <= 8; ++n) {
    emulator<void(const char*, std::uint64_t)>("tern_emulator_fail")(launch, n);
    try {
      EXPECT_EQ(values_of(session.run(inputs)[0]), expected) << n;
    } catch (const Error& e) {
      ++errors;
      EXPECT_NE(std::string(e.what()).find(n == 2 ? "factoring matrices" : "launching a kernel"), std::string::npos)
          << n << ": " << e.what();
    }
    emulator<void(const char*, std::uint64_t)>("tern_emulator_fail")(launch, 0);
    EXPECT_EQ(values_of(session.run(inputs)[0]), expected) << n;
  }
  EXPECT_EQ(errors, 5u);  // packed, factored, unpacked, finished, and Tern's kernel for the failed matrices
}

}  // namespace
}  // namespace tern
