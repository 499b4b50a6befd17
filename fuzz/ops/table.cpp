#include "fuzz/ops/table.h"

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
    return t;
  }();
  return table;
}

}  // namespace tern::fuzz
