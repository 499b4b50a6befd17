#include "schema/infer/checks.h"

#include <fmt/format.h>

namespace tern {

void require_plain(const Inference& c, std::size_t input) {
  const TensorType& t = c.in(input);
  if (t.quantized() || t.dtype == DType::f4_e2m1 || t.dtype == DType::invalid) {
    c.fail(fmt::format("operand {} must have elements that can be addressed one by one", input));
  }
}

void require_floating(const Inference& c, std::size_t input) {
  require_plain(c, input);
  if (!is_floating(c.in(input).dtype)) c.fail(fmt::format("operand {} must be of a real floating type", input));
}

void require_same_dtype(const Inference& c, std::size_t a, std::size_t b) {
  if (c.in(a).dtype != c.in(b).dtype) c.fail(fmt::format("operands {} and {} must have the same type", a, b));
}

void require_numbers_type(const Inference& c) {
  const DType t = c.dtype();
  c.require(t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64,
            "the dtype must be a floating-point type");
}

void require_at_least(const Inference& c, Dim d, std::int64_t min, const char* subject) {
  if (c.pool.bounds(d).max < min) c.fail(fmt::format("{} is {}, less than {}", subject, c.pool.text(d), min));
}

}  // namespace tern
