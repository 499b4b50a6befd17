// tern._tern._Csr and the functions of tern/sparse.h, for python/tern/sparse.py.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <tern/sparse.h>

#include <utility>

#include "python/binding/arrays.h"
#include "python/binding/gil.h"
#include "python/binding/model.h"
#include "python/binding/tensor.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

using sparse::Csr;

Tensor array_of(nb::handle object, const char* name) {
  return tensor_of(object, DType::invalid, name);
}

/// An operator from a Csr, a function of a tern.Tensor, or None.
sparse::Operator operator_from(const nb::object& object, int threads) {
  if (object.is_none()) return {};
  if (nb::isinstance<Csr>(object)) return sparse::operator_of(nb::cast<Csr>(object), {.threads = threads});
  return [&object](const Tensor& x) {
    const nb::gil_scoped_acquire held;
    return array_of(nb::object(object(tensor_object(x))), "result of the operator").clone();
  };
}

nb::tuple iterate(const std::string& method, const nb::object& a, const nb::object& b, double rtol, double atol,
                  std::int64_t most_iterations, std::int64_t restart, const nb::object& preconditioner,
                  const nb::object& start, int threads) {
  sparse::IterationOptions o{.rtol = rtol, .atol = atol, .most_iterations = most_iterations, .restart = restart};
  o.preconditioner = operator_from(preconditioner, threads);
  if (!start.is_none()) o.start = array_of(start, "start");
  const sparse::Operator product = operator_from(a, threads);
  const Tensor right = array_of(b, "b");
  sparse::IterationResult r;
  {
    const WithoutGil released;
    r = method == "cg" ? sparse::cg(product, right, o) : sparse::gmres(product, right, o);
  }
  return nb::make_tuple(tensor_object(r.x), r.iterations, r.residual, r.converged);
}

nb::tuple find_eigenvalues(const nb::object& a, const nb::object& start, bool largest, double rtol,
                           std::int64_t most_iterations, const nb::object& b, const nb::object& preconditioner,
                           int threads) {
  sparse::LobpcgOptions o{.largest = largest, .rtol = rtol, .most_iterations = most_iterations};
  o.b = operator_from(b, threads);
  o.preconditioner = operator_from(preconditioner, threads);
  const sparse::Operator product = operator_from(a, threads);
  const Tensor first = array_of(start, "start");
  sparse::LobpcgResult r;
  {
    const WithoutGil released;
    r = sparse::lobpcg(product, first, o);
  }
  return nb::make_tuple(tensor_object(r.values), tensor_object(r.vectors), tensor_object(r.residuals), r.iterations,
                        r.converged);
}

linalg::Transpose transpose_of(int number) {
  return static_cast<linalg::Transpose>(number);
}

}  // namespace

void add_sparse(nb::module_& m) {
  nb::class_<Csr>(m, "_Csr")
      .def(
          "__init__",
          [](Csr* self, std::int64_t rows, std::int64_t columns, const nb::object& starts, const nb::object& indices,
             const nb::object& values) {
            new (self) Csr(rows, columns, array_of(starts, "starts"), array_of(indices, "indices"),
                           array_of(values, "values").clone());
          },
          nb::sig("def __init__(self, rows: int, columns: int, starts: object, indices: object, values: object) -> "
                  "None"))
      .def_prop_ro("shape", [](const Csr& a) { return std::pair(a.rows(), a.columns()); })
      .def_prop_ro(
          "starts", [](const Csr& a) { return tensor_object(a.starts()); }, nb::sig("def starts(self) -> Tensor"))
      .def_prop_ro(
          "indices", [](const Csr& a) { return tensor_object(a.indices()); }, nb::sig("def indices(self) -> Tensor"))
      .def_prop_ro(
          "values", [](const Csr& a) { return tensor_object(a.values()); }, nb::sig("def values(self) -> Tensor"))
      .def(
          "to_dense", [](const Csr& a) { return tensor_object(sparse::to_dense(a)); },
          nb::sig("def to_dense(self) -> Tensor"))
      .def("transpose", &sparse::transpose, nb::arg("conjugated"))
      .def(
          "multiply",
          [](const Csr& a, const nb::object& x, int transpose, int threads) {
            const Tensor given = array_of(x, "x");
            Tensor y;
            {
              const WithoutGil released;
              y = sparse::multiply(a, given, {transpose_of(transpose), threads});
            }
            return tensor_object(y);
          },
          nb::sig("def multiply(self, x: object, transpose: int, threads: int) -> Tensor"))
      .def("multiply_sparse",
           [](const Csr& a, const Csr& b, int threads) {
             const WithoutGil released;
             return sparse::multiply(a, b, {threads});
           })
      .def(
          "triangular_solve",
          [](const Csr& a, const nb::object& b, bool upper, bool unitriangular, int transpose) {
            const Tensor given = array_of(b, "b");
            Tensor x;
            {
              const WithoutGil released;
              x = sparse::triangular_solve(a, given, {upper, unitriangular, transpose_of(transpose)});
            }
            return tensor_object(x);
          },
          nb::sig("def triangular_solve(self, b: object, upper: bool, unitriangular: bool, transpose: int) -> Tensor"));
  nb::class_<sparse::Factorization>(m, "_Factorization")
      .def(
          "__init__",
          [](sparse::Factorization* self, const Csr& a) {
            const WithoutGil released;
            new (self) sparse::Factorization(a);
          },
          nb::arg("a"))
      .def_prop_ro("rcond", &sparse::Factorization::rcond)
      .def(
          "solve",
          [](const sparse::Factorization& f, const nb::object& b, int transpose) {
            const Tensor given = array_of(b, "b");
            Tensor x;
            {
              const WithoutGil released;
              x = f.solve(given, transpose_of(transpose));
            }
            return tensor_object(x);
          },
          nb::sig("def solve(self, b: object, transpose: int) -> Tensor"));
  m.def(
      "_csr_from_coordinates",
      [](std::int64_t rows, std::int64_t columns, const nb::object& r, const nb::object& c, const nb::object& values) {
        return sparse::from_coordinates(rows, columns, array_of(r, "rows"), array_of(c, "columns"),
                                        array_of(values, "values"));
      },
      nb::sig("def _csr_from_coordinates(rows: int, columns: int, row_indices: object, column_indices: object, values: "
              "object) -> _Csr"));
  m.def(
      "_csr_from_dense", [](const nb::object& a) { return sparse::from_dense(array_of(a, "a")); },
      nb::sig("def _csr_from_dense(a: object) -> _Csr"));
  m.def(
      "_krylov", &iterate, nb::arg("method"), nb::arg("a"), nb::arg("b"), nb::arg("rtol"), nb::arg("atol"),
      nb::arg("most_iterations"), nb::arg("restart"), nb::arg("preconditioner").none(), nb::arg("start").none(),
      nb::arg("threads"),
      nb::sig("def _krylov(method: str, a: object, b: object, rtol: float, atol: float, most_iterations: int, restart: "
              "int, preconditioner: object, start: object, threads: int) -> tuple"));
  m.def("_lobpcg", &find_eigenvalues, nb::arg("a"), nb::arg("start"), nb::arg("largest"), nb::arg("rtol"),
        nb::arg("most_iterations"), nb::arg("b").none(), nb::arg("preconditioner").none(), nb::arg("threads"),
        nb::sig("def _lobpcg(a: object, start: object, largest: bool, rtol: float, most_iterations: int, b: object, "
                "preconditioner: object, threads: int) -> tuple"));
}

}  // namespace tern::python
