#include "kernels/portable/definitions.h"

#include <iterator>

#include "kernels/custom/library.h"
#include "kernels/portable/types.h"

namespace tern::portable {

// A function for each file with definitions of ops.
#define TERN_DEFINITIONS(X) \
  X(pointwise)              \
  X(sources)                \
  X(random)                 \
  X(movement)               \
  X(indexing)               \
  X(data_sized)             \
  X(unique)                 \
  X(quantized)              \
  X(reductions)             \
  X(selections)             \
  X(scans)                  \
  X(order)                  \
  X(search)                 \
  X(softmax)                \
  X(normalizations)         \
  X(histograms)             \
  X(segments)               \
  X(contractions)           \
  X(grouped_matmul)         \
  X(attention)              \
  X(rnn)                    \
  X(distances)              \
  X(convolutions)           \
  X(pools)                  \
  X(sampling)               \
  X(roi_align)              \
  X(nms)                    \
  X(factorizations)         \
  X(ldl)                    \
  X(reflections)            \
  X(solvers)                \
  X(spectra)                \
  X(fft)                    \
  X(optim)

#define TERN_DECLARE(family) void define_##family(Definitions& d);
TERN_DEFINITIONS(TERN_DECLARE)
#undef TERN_DECLARE

DType text_type(DType t, Sight sight) {
  if (!is_floating(t) && !is_complex(t)) return t;
  if (sight == Sight::narrow && (t == DType::f16 || t == DType::bf16)) return t;
  const DType computed = compute_type(t);
  return sight == Sight::wide ? wide_type(computed, true) : computed;
}

const Definitions& definitions() {
  static const Definitions all = [] {
    Definitions d;
#define TERN_DEFINE(family) define_##family(d);
    TERN_DEFINITIONS(TERN_DEFINE)
#undef TERN_DEFINE
#undef TERN_DEFINITIONS
    register_custom_on_devices(d.kernels);
    register_collective(d.kernels);
    for (std::size_t op = 0; op < std::size(d.kernels.kernels); ++op) {
      if (d.faster.kernels[op].run == nullptr) d.faster.kernels[op] = d.kernels.kernels[op];
    }
    return d;
  }();
  return all;
}

}  // namespace tern::portable
