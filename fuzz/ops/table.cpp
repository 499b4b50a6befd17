#include "fuzz/ops/table.h"

#include "fuzz/ops/sampled.h"

namespace tern::fuzz {

const MakerTable& makers() {
  static const MakerTable table = [] {
    MakerTable t{};
    list_movement(t);
    list_sources(t);
    list_reductions(t);
    list_indexing(t);
    list_contractions(t);
    list_windows(t);
    list_linalg(t);
    list_control(t);
    for (std::size_t op = 0; op < t.size(); ++op) {
      if (t[op] == nullptr && is_sampled(static_cast<Op>(op))) t[op] = make_sampled;
    }
    return t;
  }();
  return table;
}

}  // namespace tern::fuzz
