#include "kernels/custom/library.h"
#include "kernels/portable/launches.h"

namespace tern {

const KernelTable& portable_kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    portable::register_pointwise(t);
    portable::register_sources(t);
    portable::register_contractions(t);
    portable::register_indexing(t);
    portable::register_convolutions(t);
    portable::register_pools(t);
    portable::register_sampling(t);
    portable::register_order(t);
    portable::register_search(t);
    portable::register_movement(t);
    portable::register_microscaling(t);
    portable::register_optim(t);
    portable::register_scans(t);
    portable::register_softmax(t);
    portable::register_normalizations(t);
    portable::register_selections(t);
    portable::register_data_sized(t);
    portable::register_unique(t);
    portable::register_histograms(t);
    portable::register_segments(t);
    portable::register_nms(t);
    portable::register_roi_align(t);
    portable::register_reductions(t);
    portable::register_attention(t);
    portable::register_fft(t);
    portable::register_rnn(t);
    portable::register_random(t);
    portable::register_grouped_matmul(t);
    portable::register_distances(t);
    portable::register_ldl(t);
    portable::register_spectra(t);
    portable::register_reflections(t);
    portable::register_solvers(t);
    portable::register_factorizations(t);
    register_custom_on_devices(t);
    register_collective(t);
    return t;
  }();
  return table;
}

}  // namespace tern
