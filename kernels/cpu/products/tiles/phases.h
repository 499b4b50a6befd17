// The lines of an axis that the elements of a window touch, in one plane for each remainder by the stride: then
// neighbouring windows touch neighbouring lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/windows/window.h"

namespace tern::tiles {

struct Phases {
  std::vector<std::int64_t> phases;    ///< remainders of positions by the stride that elements touch
  std::vector<std::int64_t> phase;     ///< number in `phases` of each element
  std::vector<std::int64_t> shift;     ///< element k reads line shift[k] - lowest of the phase's lines
  std::int64_t lowest = 0, reach = 0;  ///< the lowest shift; highest - lowest
};

inline Phases phases_of(const cpu::WindowAxis& w) {
  Phases a;
  std::int64_t highest = 0;
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    const std::int64_t at = k * w.dilation - w.padding_before, phase = (at % w.stride + w.stride) % w.stride,
                       shift = (at - phase) / w.stride;
    const auto found = std::ranges::find(a.phases, phase);
    a.phase.push_back(found - a.phases.begin());
    if (found == a.phases.end()) a.phases.push_back(phase);
    a.shift.push_back(shift);
    a.lowest = k == 0 ? shift : std::min(a.lowest, shift);
    highest = k == 0 ? shift : std::max(highest, shift);
  }
  a.reach = highest - a.lowest;
  return a;
}

}  // namespace tern::tiles
