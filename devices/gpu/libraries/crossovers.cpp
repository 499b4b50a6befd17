#include "devices/gpu/libraries/crossovers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "devices/gpu/libraries/shared_library.h"

namespace tern::gpu {

Routine routine_for(const MatrixBatch& batch) {
  constexpr struct {
    const char* name;
    Routine routine;
  } kNames[] = {{"own", Routine::own}, {"small", Routine::small}, {"large", Routine::large}};
  if (const char* forced = std::getenv(plugin_variable("_SOLVER").c_str()))
    for (const auto& n : kNames)
      if (std::strcmp(forced, n.name) == 0) return n.routine;
  Routine routine = Routine::own;
  const int side = std::max(batch.rows, batch.columns);
  const char letter = "sdcz"[static_cast<int>(batch.type)];
  for (const Crossover& c : crossovers())
    if (c.kind == batch.kind && std::strchr(c.types, letter) != nullptr && side >= c.side && batch.count >= c.count)
      routine = c.routine;
  return routine;
}

}  // namespace tern::gpu
