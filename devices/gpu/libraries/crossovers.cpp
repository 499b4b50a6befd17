#include "devices/gpu/libraries/crossovers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "devices/gpu/libraries/shared_library.h"

namespace tern::gpu {

namespace {

constexpr struct {
  const char* name;
  Routine routine;
} kNames[] = {{"own", Routine::own}, {"small", Routine::small}, {"large", Routine::large}};

std::string variable() {
  return plugin_variable("_SOLVER");
}
/// Returns null for an unset or empty variable.
const char* forced() {
  const char* text = std::getenv(variable().c_str());
  return text == nullptr || *text == 0 ? nullptr : text;
}

}  // namespace

std::string wrong_solver() {
  const char* text = forced();
  if (text == nullptr) return {};
  for (const auto& n : kNames)
    if (std::strcmp(text, n.name) == 0) return {};
  return variable() + " is '" + text + "', not own, small or large";
}

Routine routine_for(const MatrixBatch& batch) {
  if (const char* text = forced())
    for (const auto& n : kNames)
      if (std::strcmp(text, n.name) == 0) return n.routine;
  Routine routine = Routine::own;
  const int side = std::max(batch.rows, batch.columns);
  const char letter = "sdcz"[static_cast<int>(batch.type)];
  for (const Crossover& c : crossovers())
    if (c.kind == batch.kind && std::strchr(c.types, letter) != nullptr && side >= c.side && batch.count >= c.count)
      routine = c.routine;
  return routine;
}

}  // namespace tern::gpu
