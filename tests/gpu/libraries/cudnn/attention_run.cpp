#include <algorithm>
#include <cmath>

#include "dtypes/convert.h"
#include "tests/gpu/libraries/cudnn/attention.h"
#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/machine/pointer.h"

namespace tern::stand_in {
namespace {

using namespace gpu::cudnn;

/// Elements of a tensor, row-major.
using Values = std::vector<double>;

/// Position of element `i` of a box of `sizes` in a tensor that broadcasts along axes of size 1; each head of a product
/// serves several heads, too.
std::int64_t broadcast_offset(std::int64_t i, const std::int64_t* sizes, const GraphTensor& t,
                              const std::int64_t* strides) {
  std::int64_t at = 0;
  for (int a = 4; a-- > 0; i /= sizes[a]) at += i % sizes[a] * t.sizes[a] / sizes[a] * strides[a];
  return at;
}

void row_major(const GraphTensor& t, std::int64_t* strides) {
  strides[3] = 1;
  for (int a = 3; a-- > 0;) strides[a] = strides[a + 1] * t.sizes[a + 1];
}

Values load(const GraphTensor& t) {
  if (t.is_value) return {t.value};
  Values values(static_cast<std::size_t>(t.count()));
  for (std::int64_t i = 0; i < t.count(); ++i) {
    const char* from =
        emulator::pointer<char>(t.address) + broadcast_offset(i, t.sizes, t, t.strides) * element_size(t.dtype);
    convert(from, t.dtype, &values[static_cast<std::size_t>(i)], DType::f64, 1);
  }
  return values;
}

/// Rounds to the tensor's type, and writes real tensors to memory. Weights between the products stay float32: fused
/// engines divide by their sum last.
void store(const GraphTensor& t, Values& values) {
  const DType type = t.is_virtual && (t.dtype == DType::f16 || t.dtype == DType::bf16) ? DType::f32 : t.dtype;
  for (std::int64_t i = 0; i < t.count(); ++i) {
    double& v = values[static_cast<std::size_t>(i)];
    char rounded[8];
    convert(&v, DType::f64, rounded, type, 1);
    convert(rounded, type, &v, DType::f64, 1);
    if (t.is_virtual) continue;
    char* to = emulator::pointer<char>(t.address) + broadcast_offset(i, t.sizes, t, t.strides) * element_size(t.dtype);
    std::copy_n(rounded, element_size(t.dtype), to);
  }
}

double pointwise(int mode, double x, double b, double t, double index) {
  switch (mode) {
    case kAdd: return x + b;
    case kSub: return x - b;
    case kMul: return x * b;
    case kDiv: return x / b;
    case kExp: return std::exp(x);
    case kLog: return std::log(x);
    case kGenIndex: return index;
    case kCompareGe: return x >= b ? 1 : 0;
    case kSelect: return t != 0 ? x : b;
    default: misuse("cuDNN: a pointwise operation of mode %d", mode);
  }
}

class Run {
 public:
  explicit Run(const AttentionGraph& graph) : g_(graph), values_(graph.tensors.size()) {}

  void run_steps() {
    for (const GraphStep& s : g_.steps) {
      const GraphTensor& y = tensor(s.y);
      Values made(static_cast<std::size_t>(y.count()));
      if (s.kind == kMatmulOperation) {
        multiply(s, made);
      } else if (s.kind == kReductionOperation) {
        reduce(s, made);
      } else {
        for (std::int64_t i = 0; i < y.count(); ++i) {
          std::int64_t index = i;
          for (int a = 3; a > s.axis && s.axis >= 0; --a) index /= y.sizes[a];
          made[static_cast<std::size_t>(i)] =
              pointwise(s.mode, read(s.x, i, y), s.b < 0 ? 0 : read(s.b, i, y), s.t < 0 ? 0 : read(s.t, i, y),
                        s.axis < 0 ? 0 : static_cast<double>(index % y.sizes[s.axis]));
        }
      }
      store(y, made);
      values_[static_cast<std::size_t>(s.y)] = std::move(made);
    }
  }

 private:
  const GraphTensor& tensor(int i) const { return g_.tensors[static_cast<std::size_t>(i)]; }
  const Values& values(int i) {
    Values& v = values_[static_cast<std::size_t>(i)];
    if (v.empty()) v = load(tensor(i));
    return v;
  }
  double read(int operand, std::int64_t i, const GraphTensor& box) {
    const GraphTensor& t = tensor(operand);
    std::int64_t strides[4];
    row_major(t, strides);
    return values(operand)[static_cast<std::size_t>(broadcast_offset(i, box.sizes, t, strides))];
  }

  void multiply(const GraphStep& s, Values& made) {
    const GraphTensor &a = tensor(s.x), &b = tensor(s.b), &y = tensor(s.y);
    const Values &left = values(s.x), &right = values(s.b);
    const std::int64_t m = y.sizes[2], n = y.sizes[3], depth = a.sizes[3];
    for (std::int64_t i = 0; i < y.count(); ++i) {
      const std::int64_t column = i % n, row = i / n % m, head = i / n / m % y.sizes[1], batch = i / n / m / y.sizes[1];
      const std::int64_t from = batch * b.sizes[0] / y.sizes[0] * b.sizes[1] + head * b.sizes[1] / y.sizes[1];
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += left[static_cast<std::size_t>(((batch * y.sizes[1] + head) * m + row) * depth + k)] *
               right[static_cast<std::size_t>((from * depth + k) * n + column)];
      made[static_cast<std::size_t>(i)] = sum;
    }
  }

  void reduce(const GraphStep& s, Values& made) {
    const GraphTensor &x = tensor(s.x), &y = tensor(s.y);
    std::fill(made.begin(), made.end(), s.mode == kReduceMax ? -INFINITY : 0);
    std::int64_t strides[4];
    row_major(y, strides);
    for (std::int64_t i = 0; i < x.count(); ++i) {
      double& to = made[static_cast<std::size_t>(broadcast_offset(i, x.sizes, y, strides))];
      const double v = values(s.x)[static_cast<std::size_t>(i)];
      to = s.mode == kReduceMax ? std::max(to, v) : to + v;
    }
  }

  const AttentionGraph& g_;
  std::vector<Values> values_;
};

}  // namespace

void run_attention(const AttentionGraph& graph) {
  Run(graph).run_steps();
}

}  // namespace tern::stand_in
