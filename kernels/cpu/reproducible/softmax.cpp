// softmax and log_softmax: line by line, with sums in the order of ordered_reduce.h.
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/reproducible/ordered_reduce.h"
#include "kernels/cpu/reproducible/reproducible.h"

namespace tern {
namespace {

using pointwise::Loop;

template <class T>
class ReproducibleSoftmax {
 public:
  explicit ReproducibleSoftmax(const KernelCall& c)
      : x_(c.in[0]), y_(c.out[0]), axis_(axis_of(*c.node, x_.rank)), log_(c.node->integer(AttrKey::log) != 0) {
    const pointwise::LoopTable& table = pointwise::reproducible_loop_table();
    exp_ = table.get(Scalar::exp, dtype_of_v<T>);
    log_of_double_ = table.get(Scalar::log, DType::f64);
  }

  void run() const {
    if (x_.numel() == 0) return;
    const std::int64_t n = x_.rank == 0 ? 1 : x_.size(axis_);
    const CollapsedAxes from = axes_without(x_, axis_), to = axes_without(y_, axis_);
    parallel_for(from.count, grain_for(n * 4), [&](std::int64_t begin, std::int64_t end) {
      RunReader<T> reader(x_.dtype);
      RunWriter<T> writer(y_.dtype);
      T* values = thread_buffer<T>(static_cast<std::size_t>(n));
      for (std::int64_t line = begin; line < end; ++line) {
        const std::int64_t x_step = x_.rank == 0 ? 1 : x_.stride(axis_), y_step = y_.rank == 0 ? 1 : y_.stride(axis_);
        const std::int64_t x_size = element_size(x_.dtype), y_size = element_size(y_.dtype);
        const std::byte* px = x_.data + from.offset(line) * x_size;
        std::byte* py = y_.data + to.offset(line) * y_size;
        for (std::int64_t i = 0; i < n; i += kRun) {
          const std::int64_t m = std::min(kRun, n - i);
          std::copy_n(reader.read(px + i * x_step * x_size, x_step, m), m, values + i);
        }
        compute(values, n);
        for (std::int64_t i = 0; i < n; i += kRun) {
          const std::int64_t m = std::min(kRun, n - i);
          std::byte* at = py + i * y_step * y_size;
          std::copy_n(values + i, m, writer.begin(at, y_step));
          writer.end(at, y_step, m);
        }
      }
    });
  }

 private:
  void compute(T* x, std::int64_t n) const {
    const rows::RowLoops<T>& r = rows::loops<T>();
    const T top = r.max(x, n);
    T part[kSegment];
    double sum = 0;
    for (std::int64_t i = 0; i < n; i += kSegment) {
      const std::int64_t m = std::min(kSegment, n - i);
      r.shift(x + i, top, T{0}, x + i, m);
      T* e = log_ ? part : x + i;
      exp_(e, x + i, nullptr, nullptr, m);
      sum += r.sum(e, m);
    }
    if (!log_) return r.scale(x, static_cast<T>(1 / sum), x, n);
    double less = 0;
    log_of_double_(&less, &sum, nullptr, nullptr, 1);
    r.shift(x, static_cast<T>(less), T{0}, x, n);
  }

  const TensorView& x_;
  const TensorView& y_;
  int axis_;
  bool log_;
  Loop exp_, log_of_double_;
};

void softmax(KernelCall& c) {
  if (compute_type(c.in[0].dtype) == DType::f64 || compute_type(c.out[0].dtype) == DType::f64) {
    ReproducibleSoftmax<double>(c).run();
  } else {
    ReproducibleSoftmax<float>(c).run();
  }
}

}  // namespace

void register_reproducible_softmax(KernelTable& t) {
  t.set(Op::softmax, {.run = softmax, .strided = kAllStrided});
}

}  // namespace tern
