#include "runtime/sparse/checks.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "runtime/device_tensor.h"
#include "runtime/tensor_view.h"

namespace tern::sparse {

void refuse(const char* function, const std::string& why) {
  fail(ErrorCode::invalid_argument, fmt::format("tern::sparse::{}: {}", function, why));
}
void fail_run(const char* function, const std::string& why) {
  fail(ErrorCode::runtime, fmt::format("tern::sparse::{}: {}", function, why));
}

void require_numbers(const char* function, const Tensor& t) {
  const DType type = t.dtype();
  if (type != DType::f32 && type != DType::f64 && type != DType::c64 && type != DType::c128)
    refuse(function, text_of(t) + " is not of float32, float64, complex64 or complex128");
  if (!TensorMemory::is_on_host(t)) refuse(function, "computes on the host; pass tensors as to(\"cpu\")");
}

void require_vectors(const char* function, const Tensor& x, DType t, std::int64_t rows) {
  require_numbers(function, x);
  if (x.dtype() != t || x.sizes().empty() || x.sizes().size() > 2 || x.sizes()[0] != rows)
    refuse(function,
           fmt::format("{} must be a vector [{}] or columns [{}, k] of the matrix's type", text_of(x), rows, rows));
}

}  // namespace tern::sparse
