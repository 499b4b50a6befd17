#include "runtime/linalg/wide.h"

#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/cpu/linalg/batch.h"
#include "runtime/device_tensor.h"
#include "runtime/linalg/elements.h"
#include "threads/loop_recorder.h"
#include "threads/parallel.h"

namespace tern::linalg {
namespace {

template <class Target, class Source>
Target converted(Source x) {
  if constexpr (std::is_floating_point_v<Target> && !std::is_floating_point_v<Source>) {
    return static_cast<Target>(x.real());
  } else if constexpr (std::is_floating_point_v<Source>) {
    return Target(static_cast<typename RealOf<Target>::type>(x));
  } else {
    using R = typename RealOf<Target>::type;
    return Target(static_cast<R>(x.real()), static_cast<R>(x.imag()));
  }
}

Tensor converted_to(const Tensor& a, DType t) {
  const Tensor from = a.contiguous();
  Tensor to(t, a.sizes());
  visit(a.dtype(), [&](auto tag) {
    using Source = decltype(tag);
    const auto x = from.span<Source>();
    visit(t, [&](auto other) {
      using Target = decltype(other);
      std::ranges::transform(x, to.span<Target>().begin(), converted<Target, Source>);
    });
  });
  return to;
}

template <class T>
bool is_finite(T x) {
  return std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
}

/// Calls f(i, elements of matrix i) for a contiguous batch of `count` matrices.
template <class Any, class F>
void visit_elements(Any& t, std::int64_t count, F f) {
  if (t.numel() == 0) return;
  visit(t.dtype(), [&](auto tag) {
    const auto x = t.template span<decltype(tag)>();
    const auto each = x.size() / static_cast<std::size_t>(count);
    for (std::int64_t i = 0; i < count; ++i)
      f(static_cast<std::size_t>(i), x.subspan(static_cast<std::size_t>(i) * each, each));
  });
}

}  // namespace

Tensor widened(const Tensor& a, bool to_complex) {
  const DType t = to_complex || has_complex_type(a) ? DType::c128 : DType::f64;
  return a.dtype() == t ? a.clone() : converted_to(a, t);
}
Tensor narrowed(const Tensor& a, DType t) {
  return a.dtype() == t ? a : converted_to(a, t);
}

void require_square(const Nodes& nodes, const Tensor& a) {
  nodes.require_matrices(a);
  if (!TensorMemory::is_on_host(a)) nodes.refuse("computes on the host; pass tensors as to(\"cpu\")");
  if (a.sizes().back() != a.sizes()[a.sizes().size() - 2]) nodes.refuse("needs square matrices");
}

void require_same_batch(const Nodes& nodes, const Tensor& a, const Tensor& b) {
  nodes.require_matrices(b);
  if (!TensorMemory::is_on_host(b)) nodes.refuse("computes on the host; pass tensors as to(\"cpu\")");
  const auto &x = a.sizes(), &y = b.sizes();
  if (a.dtype() != b.dtype() || x.size() != y.size() || !std::equal(x.begin(), x.end() - 2, y.begin()))
    nodes.refuse("operands must have one type and equal batches");
}

Tensor info_of(std::initializer_list<const Tensor*> operands, int core) {
  const std::vector<std::int64_t>& sizes = (*operands.begin())->sizes();
  Tensor info(DType::i32, {sizes.begin(), sizes.end() - core});
  const auto numbers = info.span<std::int32_t>();
  for (const Tensor* operand : operands) {
    const Tensor dense = operand->contiguous();
    visit_elements(dense, info.numel(), [&](std::size_t i, auto x) {
      if (!std::ranges::all_of(x, [](auto e) { return is_finite(e); })) numbers[i] = kNotFinite;
    });
  }
  return info;
}

void visit_matrices(Tensor& info, double operations, const std::function<std::int32_t(std::int64_t)>& f) {
  const auto numbers = info.span<std::int32_t>();
  const std::int64_t count = info.numel(), workers = cpu::workers_for(count, operations);
  std::optional<OpenMpScope> openmp;  // for LAPACK
  if (workers == 1) openmp.emplace();
  parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = count * begin / workers; i < count * end / workers; ++i) {
      std::int32_t& number = numbers[static_cast<std::size_t>(i)];
      if (number == 0) number = f(i);
    }
  });
}

void seal(Tensor& info, std::initializer_list<Tensor*> results) {
  const auto numbers = info.span<std::int32_t>();
  const std::int64_t count = info.numel();
  for (Tensor* t : results) {
    visit_elements(*t, count, [&](std::size_t i, auto x) {
      if (numbers[i] == 0 && !std::ranges::all_of(x, [](auto e) { return is_finite(e); })) numbers[i] = kNoSolution;
    });
  }
  for (Tensor* t : results) {
    visit_elements(*t, count, [&](std::size_t i, auto x) {
      using T = std::decay_t<decltype(x[0])>;
      if (numbers[i] != 0) std::ranges::fill(x, T(std::numeric_limits<typename RealOf<T>::type>::quiet_NaN()));
    });
  }
}

void scale_matrices(Tensor& batch, const std::vector<int>& exponents, int sign) {
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t count = batch.numel() / static_cast<std::int64_t>(exponents.size());
    if (batch.dtype() == DType::f64) {
      matrices::scale_by_power(matrix_of<double>(batch, at).data, count, sign * exponents[i]);
    } else {
      matrices::scale_by_power(matrix_of<matrices::Complex>(batch, at).data, count, sign * exponents[i]);
    }
  }
}

}  // namespace tern::linalg
