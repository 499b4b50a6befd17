#include "devices/gpu/libraries/crossovers.h"

#include <algorithm>
#include <cstring>

#include "devices/gpu/libraries/shared_library.h"
#include "platform/environment.h"

namespace tern::gpu {

namespace {

constexpr struct {
  const char* name;
  Routine routine;
} kNames[] = {{"own", Routine::native}, {"small", Routine::small}, {"large", Routine::large}};

std::string variable() {
  return plugin_variable("_SOLVER");
}
std::string forced_routine() {
  return platform::trusted_variable(variable().c_str()).value_or("");
}

}  // namespace

std::string wrong_solver() {
  const std::string text = forced_routine();
  if (text.empty()) return {};
  for (const auto& n : kNames)
    if (text == n.name) return {};
  return variable() + " is '" + text + "', not own, small or large";
}

Routine routine_for(const MatrixBatch& batch) {
  if (const std::string text = forced_routine(); !text.empty())
    for (const auto& n : kNames)
      if (text == n.name) return n.routine;
  Routine routine = Routine::native;
  const int side = std::max(batch.rows, batch.columns);
  const char letter = "sdcz"[static_cast<int>(batch.type)];
  for (const Crossover& c : crossovers())
    if (c.kind == batch.kind && std::strchr(c.types, letter) != nullptr && side >= c.side && batch.count >= c.count)
      routine = c.routine;
  return routine;
}

}  // namespace tern::gpu
