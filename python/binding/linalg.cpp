// tern._tern._linalg: the functions of tern/linalg.h by name, for python/tern/linalg.py.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <tern/error.h>
#include <tern/linalg.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "python/binding/arrays.h"
#include "python/binding/gil.h"
#include "python/binding/model.h"
#include "python/binding/tensor.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

using Tensors = std::vector<Tensor>;

/// Options of all functions; each function reads its own.
struct LinalgOptions {
  bool upper = false, downdate = false, left = true, hermitian = false, unitriangular = false, full_matrices = true,
       complex = false, discrete = false, adjoint = false;
  int transpose = 0, mode = 0, driver = 1, threads = 0;
  std::int64_t first = 0, last = -1, below = 0;
  double rcond = -1, atol = 0, rtol = -1;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

  linalg::Options general() const { return {threads}; }
  linalg::TriangleOptions triangle() const { return {upper, threads}; }
  linalg::UpdateOptions update() const { return {upper, downdate, threads}; }
  linalg::LuSolveOptions lu_solve() const { return {left, static_cast<linalg::Transpose>(transpose), threads}; }
  linalg::LdlOptions ldl() const { return {hermitian, threads}; }
  linalg::SolveOptions solve() const { return {left, threads}; }
  linalg::TriangularOptions triangular() const {
    return {upper, left, unitriangular, static_cast<linalg::Transpose>(transpose), threads};
  }
  linalg::LstsqOptions lstsq() const { return {static_cast<linalg::LstsqDriver>(driver), rcond, threads}; }
  linalg::QrOptions qr() const { return {static_cast<linalg::QrMode>(mode), threads}; }
  linalg::SvdOptions svd() const { return {full_matrices, threads}; }
  linalg::SchurOptions schur() const { return {complex, threads}; }
  linalg::EighRangeOptions range() const { return {first, last, low, high, upper, threads}; }
  linalg::OrmqrOptions ormqr() const { return {left, adjoint, threads}; }
  linalg::LyapunovOptions lyapunov() const { return {discrete, threads}; }
  linalg::ToleranceOptions tolerance() const { return {hermitian, atol, rtol, threads}; }
};

struct LinalgFunction {
  std::string_view name;
  std::size_t operands;
  Tensors (*run)(const Tensors& x, const LinalgOptions& o);
};

/// Makes a table entry; `expression` has the results in braces, of operands x[0] ... with options o.
#define TERN_LINALG(name, operands, results, expression)                     \
  {                                                                          \
#name, operands, [](const Tensors& x, const LinalgOptions& o) -> Tensors { \
      const auto r = linalg::name expression;                                  \
      return results(r);                                                       \
    } \
  }
Tensors single_tensor(const Tensor& r) {
  return {r};
}
template <class R>
Tensors factor_info(const R& r) {
  return {r.factor, r.info};
}
Tensors lu_parts(const linalg::LuFactors& r) {
  return {r.lu, r.pivots, r.info};
}
Tensors ldl_parts(const linalg::LdlFactors& r) {
  return {r.ld, r.pivots, r.info};
}
/// The members of any other result.
template <class R>
Tensors members(const R& r) {
  if constexpr (requires {
                  r.vh;
                  r.info;
                }) {
    return {r.u, r.s, r.vh, r.info};
  } else if constexpr (requires { r.vh; }) {
    return {r.u, r.s, r.vh};
  } else if constexpr (requires {
                         r.counts;
                         r.info;
                       }) {
    return {r.values, r.vectors, r.counts, r.info};
  } else if constexpr (requires { r.counts; }) {
    return {r.values, r.vectors, r.counts};
  } else if constexpr (requires { r.tau; }) {
    return {r.a, r.tau};
  } else if constexpr (requires {
                         r.vectors;
                         r.info;
                       }) {
    return {r.values, r.vectors, r.info};
  } else if constexpr (requires { r.vectors; }) {
    return {r.values, r.vectors};
  } else if constexpr (requires { r.residuals; }) {
    return {r.x, r.residuals, r.rank, r.values};
  } else if constexpr (requires {
                         r.values;
                         r.info;
                       }) {
    return {r.values, r.info};
  } else if constexpr (requires { r.logabsdet; }) {
    return {r.sign, r.logabsdet};
  } else if constexpr (requires { r.inverse; }) {
    return {r.inverse, r.info};
  } else if constexpr (requires { r.p; }) {
    return {r.p, r.l, r.u};
  } else if constexpr (requires { r.h; }) {
    return {r.u, r.h};
  } else if constexpr (requires { r.q; }) {
    return {r.q, r.r};
  } else if constexpr (requires {
                         r.z;
                         r.info;
                       }) {
    return {r.t, r.z, r.info};
  } else if constexpr (requires { r.z; }) {
    return {r.t, r.z};
  } else if constexpr (requires { r.result; }) {
    return {r.result, r.info};
  } else {
    return {r.x, r.info};
  }
}

constexpr LinalgFunction kLinalgFunctions[] = {
    TERN_LINALG(cholesky, 1, single_tensor, (x[0], o.triangle())),
    TERN_LINALG(cholesky_ex, 1, factor_info, (x[0], o.triangle())),
    TERN_LINALG(cholesky_solve, 2, single_tensor, (x[0], x[1], o.triangle())),
    TERN_LINALG(cholesky_update, 2, single_tensor, (x[0], x[1], o.update())),
    TERN_LINALG(cholesky_update_ex, 2, factor_info, (x[0], x[1], o.update())),
    TERN_LINALG(lu_factor, 1, lu_parts, (x[0], o.general())),
    TERN_LINALG(lu_factor_ex, 1, lu_parts, (x[0], o.general())),
    TERN_LINALG(lu_solve, 3, single_tensor, ({x[0], x[1], {}}, x[2], o.lu_solve())),
    TERN_LINALG(lu, 1, members, (x[0], o.general())),
    TERN_LINALG(ldl_factor, 1, ldl_parts, (x[0], o.ldl())),
    TERN_LINALG(ldl_factor_ex, 1, ldl_parts, (x[0], o.ldl())),
    TERN_LINALG(ldl_solve, 3, single_tensor, ({x[0], x[1], {}}, x[2], o.ldl())),
    TERN_LINALG(solve, 2, single_tensor, (x[0], x[1], o.solve())),
    TERN_LINALG(solve_ex, 2, members, (x[0], x[1], o.solve())),
    TERN_LINALG(inv, 1, single_tensor, (x[0], o.general())),
    TERN_LINALG(inv_ex, 1, members, (x[0], o.general())),
    TERN_LINALG(triangular_solve, 2, single_tensor, (x[0], x[1], o.triangular())),
    TERN_LINALG(tridiagonal_solve, 4, single_tensor, (x[0], x[1], x[2], x[3], o.general())),
    TERN_LINALG(tridiagonal_solve_ex, 4, members, (x[0], x[1], x[2], x[3], o.general())),
    TERN_LINALG(lstsq, 2, members, (x[0], x[1], o.lstsq())),
    TERN_LINALG(det, 1, single_tensor, (x[0], o.general())),
    TERN_LINALG(slogdet, 1, members, (x[0], o.general())),
    TERN_LINALG(qr, 1, members, (x[0], o.qr())),
    TERN_LINALG(householder_product, 2, single_tensor, (x[0], x[1], o.general())),
    TERN_LINALG(eigh, 1, members, (x[0], o.triangle())),
    TERN_LINALG(eigh_ex, 1, members, (x[0], o.triangle())),
    TERN_LINALG(eigvalsh, 1, single_tensor, (x[0], o.triangle())),
    TERN_LINALG(eigvalsh_ex, 1, members, (x[0], o.triangle())),
    TERN_LINALG(eigh_generalized, 2, members, (x[0], x[1], o.triangle())),
    TERN_LINALG(eig, 1, members, (x[0], o.general())),
    TERN_LINALG(eig_ex, 1, members, (x[0], o.general())),
    TERN_LINALG(eigvals, 1, single_tensor, (x[0], o.general())),
    TERN_LINALG(eigvals_ex, 1, members, (x[0], o.general())),
    TERN_LINALG(svd, 1, members, (x[0], o.svd())),
    TERN_LINALG(svd_ex, 1, members, (x[0], o.svd())),
    TERN_LINALG(svdvals, 1, single_tensor, (x[0], o.general())),
    TERN_LINALG(svdvals_ex, 1, members, (x[0], o.general())),
    TERN_LINALG(polar, 1, members, (x[0], o.general())),
    TERN_LINALG(eigh_range, 1, members, (x[0], o.range())),
    TERN_LINALG(eigh_range_ex, 1, members, (x[0], o.range())),
    TERN_LINALG(eigh_tridiagonal, 2, members, (x[0], x[1], o.range())),
    TERN_LINALG(eigh_tridiagonal_ex, 2, members, (x[0], x[1], o.range())),
    TERN_LINALG(qr_update, 4, members, ({x[0], x[1]}, x[2], x[3], o.general())),
    TERN_LINALG(geqrf, 1, members, (x[0], o.general())),
    TERN_LINALG(ormqr, 3, single_tensor, ({x[0], x[1]}, x[2], o.ormqr())),
    TERN_LINALG(banded_solve, 2, single_tensor, (x[0], o.below, x[1], o.general())),
    TERN_LINALG(banded_solve_ex, 2, members, (x[0], o.below, x[1], o.general())),
    TERN_LINALG(banded_cholesky_solve, 2, single_tensor, (x[0], x[1], o.triangle())),
    TERN_LINALG(banded_cholesky_solve_ex, 2, members, (x[0], x[1], o.triangle())),
    TERN_LINALG(toeplitz_solve, 3, single_tensor, (x[0], x[1], x[2], o.general())),
    TERN_LINALG(toeplitz_solve_ex, 3, members, (x[0], x[1], x[2], o.general())),
    TERN_LINALG(schur, 1, members, (x[0], o.schur())),
    TERN_LINALG(schur_ex, 1, members, (x[0], o.schur())),
    TERN_LINALG(matrix_sqrt, 1, single_tensor, (x[0], o.schur())),
    TERN_LINALG(matrix_sqrt_ex, 1, members, (x[0], o.schur())),
    TERN_LINALG(matrix_log, 1, single_tensor, (x[0], o.schur())),
    TERN_LINALG(matrix_log_ex, 1, members, (x[0], o.schur())),
    TERN_LINALG(sylvester, 3, single_tensor, (x[0], x[1], x[2], o.general())),
    TERN_LINALG(sylvester_ex, 3, members, (x[0], x[1], x[2], o.general())),
    TERN_LINALG(lyapunov, 2, single_tensor, (x[0], x[1], o.lyapunov())),
    TERN_LINALG(lyapunov_ex, 2, members, (x[0], x[1], o.lyapunov())),
    TERN_LINALG(pinv, 1, single_tensor, (x[0], o.tolerance())),
    TERN_LINALG(matrix_rank, 1, single_tensor, (x[0], o.tolerance())),
    TERN_LINALG(matrix_exp, 1, single_tensor, (x[0], o.general())),
};
#undef TERN_LINALG

LinalgOptions options_of(const nb::kwargs& given) {
  LinalgOptions o;
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const auto set = [&](std::string_view option, auto& to) {
      if (name == option) to = nb::cast<std::decay_t<decltype(to)>>(value);
    };
    set("upper", o.upper);
    set("downdate", o.downdate);
    set("left", o.left);
    set("hermitian", o.hermitian);
    set("unitriangular", o.unitriangular);
    set("full_matrices", o.full_matrices);
    set("first", o.first);
    set("last", o.last);
    set("below", o.below);
    set("low", o.low);
    set("high", o.high);
    set("adjoint", o.adjoint);
    set("complex", o.complex);
    set("discrete", o.discrete);
    set("transpose", o.transpose);
    set("mode", o.mode);
    set("driver", o.driver);
    set("threads", o.threads);
    set("rcond", o.rcond);
    set("atol", o.atol);
    set("rtol", o.rtol);
  }
  return o;
}

nb::tuple run_linalg(const std::string& name, const nb::args& operands, const nb::kwargs& given) {
  const auto* const function = std::ranges::find(kLinalgFunctions, std::string_view(name), &LinalgFunction::name);
  if (function == std::end(kLinalgFunctions) || operands.size() != function->operands)
    fail(ErrorCode::invalid_argument,
         fmt::format("tern.linalg has no function {} of {} operands", name, operands.size()));
  const LinalgOptions options = options_of(given);
  Tensors x, results;
  for (std::size_t i = 0; i < operands.size(); ++i)
    x.push_back(tensor_of(operands[i], DType::invalid, fmt::format("{}", i)));
  {
    const WithoutGil released;
    results = function->run(x, options);
  }
  nb::list list;
  for (Tensor& t : results) list.append(tensor_object(std::move(t)));
  return nb::tuple(list);
}

}  // namespace

void add_linalg(nb::module_& m) {
  m.def("_linalg", &run_linalg, nb::sig("def _linalg(function: str, *operands: object, **options: object) -> tuple"));
}

}  // namespace tern::python
