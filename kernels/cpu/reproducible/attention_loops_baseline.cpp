// For any processor.
#define TERN_SET_LOOPS set_baseline
#define TERN_BYTES 16
#define TERN_REGISTERS 1
#include "dtypes/cpu_level.h"
#include "kernels/cpu/reproducible/attention_loops.inc"

namespace tern::reproducible {

const AttentionLoops& attention_loops() {
  static const AttentionLoops made = [] {
    AttentionLoops l{};
    TERN_SET_FOR_LEVEL(set, &l);
    return l;
  }();
  return made;
}

}  // namespace tern::reproducible
