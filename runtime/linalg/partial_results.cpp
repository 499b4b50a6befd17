#include "runtime/linalg/partial_results.h"

#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/device_tensor.h"
#include "runtime/linalg/elements.h"

namespace tern::linalg {
namespace {

using RunBatch = std::function<std::vector<Tensor>(const Tensor&)>;

template <class T>
bool has_finite_elements(const T* x, std::int64_t rows, std::int64_t columns, ReadElements read) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t begin = read == ReadElements::upper ? r : 0;
    const std::int64_t end = read == ReadElements::lower ? std::min(r + 1, columns) : columns;
    for (std::int64_t c = begin; c < end; ++c) {
      const T v = x[r * columns + c];
      if (!std::isfinite(std::real(v)) || !std::isfinite(std::imag(v))) return false;
    }
  }
  return true;
}

/// Bytes of one of `count` matrices.
std::size_t bytes_of_each(const Tensor& t, std::int64_t count) {
  return t.byte_size() / static_cast<std::size_t>(count);
}
std::byte* bytes_at(Tensor& t, std::size_t offset) {
  return static_cast<std::byte*>(t.data()) + offset;
}

/// Runs matrices [begin, end) of a dense batch, and stores their results.
void run_range(const Tensor& a, std::int64_t begin, std::int64_t end, const RunBatch& run, PartialResults& to) {
  const std::int64_t count = to.info.numel();
  const std::vector<std::int64_t>& sizes = a.sizes();
  Tensor owner = a;
  const Tensor some = Tensor::borrow(
      static_cast<const void*>(bytes_at(owner, static_cast<std::size_t>(begin) * bytes_of_each(a, count))), a.dtype(),
      {end - begin, sizes[sizes.size() - 2], sizes.back()});
  std::vector<Tensor> found;
  try {
    found = run(some);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::runtime) throw;
    if (end - begin == 1) {
      to.info.span<std::int32_t>()[static_cast<std::size_t>(begin)] = kNoConvergence;
      return;
    }
    const std::int64_t middle = begin + (end - begin) / 2;
    run_range(a, begin, middle, run, to);
    return run_range(a, middle, end, run, to);
  }
  to.results.resize(found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (found[k].dtype() == DType::invalid) continue;
    Tensor& result = to.results[k];
    if (result.dtype() == DType::invalid) {
      std::vector<std::int64_t> shape(sizes.begin(), sizes.end() - 2);
      shape.insert(shape.end(), found[k].sizes().begin() + 1, found[k].sizes().end());
      result = Tensor(found[k].dtype(), std::move(shape));
    }
    if (found[k].byte_size() == 0) continue;
    std::memcpy(bytes_at(result, static_cast<std::size_t>(begin) * bytes_of_each(result, count)), found[k].data(),
                found[k].byte_size());
  }
}

void fill_with_nan(Tensor& t, std::int64_t matrix, std::int64_t count) {
  if (t.dtype() == DType::invalid || t.numel() == 0) return;
  visit(t.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto each = static_cast<std::size_t>(t.numel() / count);
    const auto x = t.span<T>().subspan(static_cast<std::size_t>(matrix) * each, each);
    std::fill(x.begin(), x.end(), T(std::numeric_limits<double>::quiet_NaN()));
  });
}

}  // namespace

PartialResults run_partially(const Tensor& a, ReadElements read, const RunBatch& run) {
  if (!TensorMemory::is_on_host(a)) return {run(a), {}};  // throws
  PartialResults to;
  const std::vector<std::int64_t>& sizes = a.sizes();
  to.info = Tensor(DType::i32, {sizes.begin(), sizes.end() - 2});
  const std::int64_t count = to.info.numel(), rows = sizes[sizes.size() - 2], columns = sizes.back();
  Tensor given = a.contiguous();
  bool is_own = !a.is_contiguous(), all_finite = true;
  const auto info = to.info.span<std::int32_t>();
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto size = static_cast<std::size_t>(rows * columns);
    for (std::size_t i = 0; i < info.size(); ++i) {
      const T* matrix = static_cast<const Tensor&>(given).span<T>().data() + i * size;
      if (has_finite_elements(matrix, rows, columns, read)) continue;
      if (!is_own) given = given.clone();
      is_own = true, all_finite = false;
      info[i] = kNotFinite;
      std::fill_n(given.span<T>().data() + i * size, size, T(0));
    }
  });
  try {
    to.results = run(given);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::runtime || count == 0) throw;
    run_range(given, 0, count, run, to);
    all_finite = false;
    if (to.results.empty()) to.results = run(Tensor(a.dtype(), sizes));  // zeros have results of the same sizes
  }
  for (std::int64_t i = 0; i < count && !all_finite; ++i) {
    if (info[static_cast<std::size_t>(i)] == 0) continue;
    for (Tensor& t : to.results) fill_with_nan(t, i, count);
  }
  return to;
}

}  // namespace tern::linalg
