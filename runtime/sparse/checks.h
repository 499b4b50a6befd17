// Checks of operands of tern/sparse.h.
#pragma once

#include <tern/tensor.h>

#include <string>

namespace tern::sparse {

[[noreturn]] void refuse(const char* function, const std::string& why);
[[noreturn]] void fail_run(const char* function, const std::string& why);
/// Requires a type of linear algebra on the host.
void require_numbers(const char* function, const Tensor& t);
/// Requires [rows] or [rows, k] of this type.
void require_vectors(const char* function, const Tensor& x, DType t, std::int64_t rows);

}  // namespace tern::sparse
