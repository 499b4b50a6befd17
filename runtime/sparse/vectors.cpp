#include "runtime/sparse/vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/wide.h"
#include "runtime/sparse/checks.h"

namespace tern::sparse {

template <class T>
Columns<T> columns_of(const Tensor& t) {
  Columns<T> c(t.sizes()[0], t.sizes().size() == 2 ? t.sizes()[1] : 1);
  const bool is_wide = t.dtype() == DType::f64 || t.dtype() == DType::c128;
  const Tensor wide = is_wide ? t.contiguous() : linalg::widened(t, !std::is_floating_point_v<T>);
  std::ranges::copy(wide.span<T>(), c.x.begin());
  return c;
}

template <class T>
Tensor tensor_of(const Columns<T>& x, DType t, bool is_vector) {
  Tensor wide(std::is_floating_point_v<T> ? DType::f64 : DType::c128,
              is_vector ? std::vector<std::int64_t>{x.n} : std::vector<std::int64_t>{x.n, x.k});
  std::ranges::copy(x.x, wide.span<T>().begin());
  return linalg::narrowed(wide, t);
}

template <class T>
Columns<T> Applied::operator()(const Columns<T>& x, bool is_vector) const {
  const Tensor given = tensor_of(x, type_, is_vector), y = f_(given);
  if (y.dtype() != type_ || y.sizes() != given.sizes())
    refuse(function_, fmt::format("{} returned another type or other sizes than it was given", argument_));
  require_numbers(function_, y);
  Columns<T> result = columns_of<T>(y);
  for (const T e : result.x) {
    if (!std::isfinite(std::real(e)) || !std::isfinite(std::imag(e)))
      fail_run(function_, fmt::format("{} returned NaN or infinities", argument_));
  }
  return result;
}

template Columns<double> columns_of(const Tensor&);
template Columns<Complex> columns_of(const Tensor&);
template Tensor tensor_of(const Columns<double>&, DType, bool);
template Tensor tensor_of(const Columns<Complex>&, DType, bool);
template Columns<double> Applied::operator()(const Columns<double>&, bool) const;
template Columns<Complex> Applied::operator()(const Columns<Complex>&, bool) const;

}  // namespace tern::sparse
