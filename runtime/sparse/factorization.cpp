// LU factors of sparse matrices by UMFPACK of SuiteSparse, loaded at the first use.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/sparse.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "platform/library.h"
#include "runtime/sparse/checks.h"
#include "runtime/sparse/vectors.h"

namespace tern::sparse {

struct Factors {
  virtual ~Factors() = default;
  virtual Tensor solve(const Tensor& b, linalg::Transpose transpose) const = 0;

  DType dtype = DType::invalid;
  std::int64_t rows = 0;
  double rcond = 0;
};

namespace {

constexpr const char* kFactorizationName = "Factorization";

// Numbers of umfpack.h, the same in SuiteSparse 5 to 7.
constexpr int kSingularMatrix = 1, kOutOfMemory = -1;
constexpr std::size_t kReciprocalCondition = 67;
using UmfpackControl = std::array<double, 20>;
using UmfpackInfo = std::array<double, 90>;

int system_number(linalg::Transpose transpose) {
  switch (transpose) {
    case linalg::Transpose::none: return 0;       // UMFPACK_A
    case linalg::Transpose::adjoint: return 1;    // UMFPACK_At
    case linalg::Transpose::transpose: return 2;  // UMFPACK_Aat
  }
  return 0;
}

/// UMFPACK's routines of one element type with 64-bit indices. Complex routines take an array of imaginary parts behind
/// each array of numbers; null says that real and imaginary parts alternate.
template <class... Imaginary>
struct UmfpackRoutines {
  using Indices = const std::int64_t*;

  void (*defaults)(double*);
  int (*symbolic)(std::int64_t, std::int64_t, Indices, Indices, const double*, Imaginary..., void**, const double*,
                  double*);
  int (*numeric)(Indices, Indices, const double*, Imaginary..., void*, void**, const double*, double*);
  int (*solve)(int, Indices, Indices, const double*, Imaginary..., double*, Imaginary..., const double*, Imaginary...,
               void*, const double*, double*);
  void (*free_symbolic)(void**);
  void (*free_numeric)(void**);

  UmfpackRoutines(void* library, const std::string& prefix) {
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          platform::find_symbol(library, (prefix + name).c_str()));
      if (function == nullptr) {
        fail(ErrorCode::unsupported,
             fmt::format("tern::sparse::{}: UMFPACK lacks the function {}{}", kFactorizationName, prefix, name));
      }
    };
    find(defaults, "defaults");
    find(symbolic, "symbolic");
    find(numeric, "numeric");
    find(solve, "solve");
    find(free_symbolic, "free_symbolic");
    find(free_numeric, "free_numeric");
  }
};

void* umfpack_library() {
  static void* const library = [] {
    void* found = nullptr;
    for (const char* name : {"libumfpack.so.6", "libumfpack.so.5", "libumfpack.so", "umfpack.dll"}) {
      if (found == nullptr) found = platform::open_library(name);
    }
    return found;
  }();
  if (library == nullptr) {
    fail(ErrorCode::unsupported,
         fmt::format("tern::sparse::{}: UMFPACK of SuiteSparse is missing; install libumfpack6 or libumfpack5",
                     kFactorizationName));
  }
  return library;
}

template <class... Imaginary>
const UmfpackRoutines<Imaginary...>& umfpack_routines(const char* prefix) {
  static const UmfpackRoutines<Imaginary...> routines(umfpack_library(), prefix);
  return routines;
}

/// A in columns: rows of the transpose, sorted, with one element for each place.
Csr compressed_columns(const Csr& a) {
  const auto starts = a.starts().span<std::int64_t>();
  Tensor rows(DType::i64, {a.values().numel()});
  const auto row = rows.span<std::int64_t>();
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    const auto at = static_cast<std::size_t>(r);
    std::fill(row.begin() + starts[at], row.begin() + starts[at + 1], r);
  }
  return from_coordinates(a.columns(), a.rows(), a.indices(), rows, a.values());
}

template <class T, class... Imaginary>
class UmfpackFactors final : public Factors {
 public:
  UmfpackFactors(const Csr& a, const char* prefix)
      : umfpack_(umfpack_routines<Imaginary...>(prefix)), columns_(compressed_columns(a)) {
    dtype = a.dtype();
    rows = a.rows();
    values_ = columns_of<T>(columns_.values()).x;
    if (!std::ranges::all_of(values_, [](T x) { return std::isfinite(std::abs(x)); }))
      fail_run(kFactorizationName, "the matrix has NaN or infinities");
    umfpack_.defaults(control_.data());
    UmfpackInfo info{};
    void* symbolic = nullptr;
    int status = umfpack_.symbolic(rows, rows, starts(), indices(), numbers(values_), Imaginary()..., &symbolic,
                                   control_.data(), info.data());
    if (status == 0) {
      status = umfpack_.numeric(starts(), indices(), numbers(values_), Imaginary()..., symbolic, &numeric_,
                                control_.data(), info.data());
    }
    umfpack_.free_symbolic(&symbolic);
    rcond = info[kReciprocalCondition];
    if (status == 0) return;
    umfpack_.free_numeric(&numeric_);
    if (status == kSingularMatrix) fail_run(kFactorizationName, "the matrix is singular");
    if (status == kOutOfMemory) fail_run(kFactorizationName, "memory does not suffice for the factors");
    fail_run(kFactorizationName, fmt::format("UMFPACK ends with status {}", status));
  }
  UmfpackFactors(const UmfpackFactors&) = delete;
  UmfpackFactors& operator=(const UmfpackFactors&) = delete;
  ~UmfpackFactors() override { umfpack_.free_numeric(&numeric_); }

  Tensor solve(const Tensor& b, linalg::Transpose transpose) const override {
    const Columns<T> right = columns_of<T>(b);
    Columns<T> solution(right.n, right.k);
    std::vector<T> column(static_cast<std::size_t>(right.n)), x(column.size());
    for (std::int64_t j = 0; j < right.k; ++j) {
      for (std::int64_t r = 0; r < right.n; ++r) column[static_cast<std::size_t>(r)] = right.row(r)[j];
      UmfpackInfo info{};
      const int status = umfpack_.solve(system_number(transpose), starts(), indices(), numbers(values_), Imaginary()...,
                                        reinterpret_cast<double*>(x.data()), Imaginary()..., numbers(column),
                                        Imaginary()..., numeric_, control_.data(), info.data());
      if (status != 0) fail_run("Factorization::solve", fmt::format("UMFPACK ends with status {}", status));
      for (std::int64_t r = 0; r < right.n; ++r) solution.row(r)[j] = x[static_cast<std::size_t>(r)];
    }
    return tensor_of(solution, dtype, b.sizes().size() == 1);
  }

 private:
  static const double* numbers(const std::vector<T>& x) { return reinterpret_cast<const double*>(x.data()); }
  const std::int64_t* starts() const { return columns_.starts().template span<std::int64_t>().data(); }
  const std::int64_t* indices() const { return columns_.indices().template span<std::int64_t>().data(); }

  const UmfpackRoutines<Imaginary...>& umfpack_;
  const Csr columns_;
  std::vector<T> values_;
  UmfpackControl control_{};
  void* numeric_ = nullptr;
};

}  // namespace

Factorization::Factorization(const Csr& a) {
  if (a.rows() != a.columns() || a.rows() == 0)
    refuse(kFactorizationName, fmt::format("needs a square matrix with rows, not {} x {}", a.rows(), a.columns()));
  if (a.dtype() == DType::f32 || a.dtype() == DType::f64) {
    factors_ = std::make_shared<UmfpackFactors<double>>(a, "umfpack_dl_");
  } else {
    factors_ = std::make_shared<UmfpackFactors<Complex, double*>>(a, "umfpack_zl_");
  }
}

Tensor Factorization::solve(const Tensor& b, linalg::Transpose transpose) const {
  require_vectors("Factorization::solve", b, factors_->dtype, factors_->rows);
  return factors_->solve(b, transpose);
}

double Factorization::rcond() const {
  return factors_->rcond;
}

}  // namespace tern::sparse
