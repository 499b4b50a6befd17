#include "kernels/cpu/reproducible/attention_loops.h"

namespace tern::reproducible {

const AttentionLoops& attention_loops() {
  static const AttentionLoops made = [] {
    AttentionLoops l{};
    best_level(set_attention_levels)(&l);
    return l;
  }();
  return made;
}

}  // namespace tern::reproducible
