// fft: one axis after the other. Lines of real input are transformed first, lines of real output last; the axes between
// are transformed in the result's memory, or in scratch memory if the result is smaller.
#include <cmath>

#include "kernels/cpu/fft/lines.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/linalg.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu {
namespace {

struct FftProblem {
  FftKind kind = FftKind::complex_to_complex;
  bool forward = false;
  std::vector<int> axes;
  double scale = 1;
};

FftProblem describe_fft(const KernelCall& c) {
  FftProblem p;
  p.kind = static_cast<FftKind>(c.node->integer(AttrKey::kind));
  p.forward = c.node->integer(AttrKey::forward) != 0;
  const TensorView& signal = p.kind == FftKind::complex_to_real ? c.out[0] : c.in[0];
  double n = 1;
  for (Dim d : c.node->dims(AttrKey::axes)) {
    p.axes.push_back(static_cast<int>(d.value() < 0 ? d.value() + signal.rank : d.value()));
    n *= static_cast<double>(signal.size(p.axes.back()));
  }
  const auto norm = static_cast<FftNorm>(c.node->integer(AttrKey::norm));
  p.scale = norm == FftNorm::n ? 1 / n : norm == FftNorm::root_n ? 1 / std::sqrt(n) : 1;
  return p;
}

LineLayout layout_of(const TensorView& v, int axis) {
  LineLayout l;
  for (int i = 0; i < axis; ++i) l.outer *= v.size(i);
  for (int i = axis + 1; i < v.rank; ++i) l.inner *= v.size(i);
  return l;
}

struct FftPass {
  virtual ~FftPass() = default;
  virtual std::size_t scratch() const = 0;  ///< bytes per thread
  virtual void run(const void* from, void* to, std::byte* scratch) const = 0;
  int workers = 1;
};

template <class T, class W>
struct AxisPass : FftPass {
  AxisPass(typename LineTransform<T, W>::Kind kind, std::int64_t size, bool forward, double scale, LineLayout l)
      : transform(kind, size, forward, scale), layout(l) {
    const double flops = 5.0 * static_cast<double>(size) * std::log2(static_cast<double>(size) + 1);
    workers = static_cast<int>(workers_for(layout.count(), flops));
  }
  std::size_t scratch() const override {
    ScratchArena arena;
    arena.allocate<W>(transform.work_elements(LineTransform<T, W>::lanes(layout.count())));
    return arena.used();
  }
  void run(const void* from, void* to, std::byte* memory) const override {
    const std::size_t each = scratch();
    parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t w = begin; w < end; ++w) {
        transform.run(from, to, layout, layout.count() * w / workers, layout.count() * (w + 1) / workers,
                      reinterpret_cast<W*>(memory + each * static_cast<std::size_t>(w)));
      }
    });
  }
  LineTransform<T, W> transform;
  LineLayout layout;
};

template <class T>
std::unique_ptr<FftPass> make_pass(FftKind kind, const TensorView& signal, int axis, bool forward, double scale) {
  using F = FftKind;
  const std::int64_t size = signal.size(axis);
  const LineLayout layout = layout_of(signal, axis);
  const auto make = [&](auto work) -> std::unique_ptr<FftPass> {
    using P = AxisPass<T, decltype(work)>;
    using K = typename LineTransform<T, decltype(work)>::Kind;
    const K k = kind == F::complex_to_complex ? K::complex : kind == F::real_to_complex ? K::from_real : K::to_real;
    return std::make_unique<P>(k, size, forward, scale, layout);
  };
  // Bluestein's convolution loses a few digits, too many for float32.
  if (!fft_is_smooth(size)) return make(double{});
  return make(T{});
}

/// The passes of a node with known sizes.
struct FftState : KernelState {
  std::vector<std::unique_ptr<FftPass>> passes;
  std::size_t memory = 0;         ///< scratch bytes of the largest pass, for all threads
  std::size_t complex_bytes = 0;  ///< bytes of the elements before the pass to real numbers
  bool copy = false;              ///< no axis: copies the elements
};

template <class T>
void add_passes(const KernelCall& c, const FftProblem& p, FftState& s) {
  using F = FftKind;
  const bool to_real = p.kind == F::complex_to_real;
  const TensorView& spectrum = to_real ? c.in[0] : c.out[0];
  const auto scale = [&](std::size_t left) { return left == 0 ? p.scale : 1.0; };
  const std::size_t n = p.axes.size();
  if (p.kind == F::real_to_complex)
    s.passes.push_back(make_pass<T>(p.kind, c.in[0], p.axes.back(), p.forward, scale(n - 1)));
  const std::size_t others = p.kind == F::complex_to_complex ? n : n - 1;
  for (std::size_t i = others; i-- > 0;)
    s.passes.push_back(
        make_pass<T>(F::complex_to_complex, spectrum, p.axes[i], p.forward, scale(i + (to_real ? 1 : 0))));
  if (to_real) {
    s.passes.push_back(make_pass<T>(p.kind, c.out[0], p.axes.back(), p.forward, p.scale));
    if (n > 1) s.complex_bytes = aligned(static_cast<std::size_t>(c.in[0].numel()) * 2 * sizeof(T));
  }
  // Factors for each element of a line; Bluestein's convolution stores factors and a spectrum for up to four times as
  // many.
  const auto tables_of = [](std::int64_t size) {
    return static_cast<std::uint64_t>(size) * sizeof(std::complex<double>) * (fft_is_smooth(size) ? 1 : 8);
  };
  for (const int axis : p.axes) s.table_bytes += tables_of((to_real ? c.out[0] : c.in[0]).size(axis));
  for (const auto& pass : s.passes)
    s.memory = std::max(s.memory, pass->scratch() * static_cast<std::size_t>(pass->workers));
}

std::unique_ptr<KernelState> prepare_fft(const KernelCall& c) {
  auto s = std::make_unique<FftState>();
  if (c.out[0].numel() == 0) return s;
  const FftProblem p = describe_fft(c);
  s->copy = p.axes.empty();
  if (s->copy) return s;
  const DType t = c.in[0].dtype;
  if (t == DType::f64 || t == DType::c128) {
    add_passes<double>(c, p, *s);
  } else {
    add_passes<float>(c, p, *s);
  }
  return s;
}

std::size_t scratch(const KernelCall& c) {
  const auto* s = static_cast<const FftState*>(c.state);
  return s == nullptr ? 0 : s->memory + s->complex_bytes;
}

void run_fft(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  std::unique_ptr<KernelState> own;
  if (c.state == nullptr) own = prepare_fft(c);
  const auto& s = static_cast<const FftState&>(own ? *own : *c.state);
  if (s.copy) return copy_strided(c.in[0], c.out[0]);
  const Scratch memory(c, s.memory + s.complex_bytes);
  const void* from = c.in[0].data;
  for (const auto& pass : s.passes) {
    const bool last = pass == s.passes.back();
    void* to = s.complex_bytes == 0 || last ? c.out[0].data : memory.data() + s.memory;
    pass->run(from, to, memory.data());
    from = to;
  }
}

}  // namespace

Kernel fft_kernel() {
  Kernel k;
  k.run = run_fft;
  k.scratch = scratch;
  k.prepare = prepare_fft;
  return k;
}

}  // namespace tern::cpu
