#include "devices/gpu/libraries/crossovers.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

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
/// The variable's text, read once per process.
const std::string& forced_text() {
  static const std::string text = platform::trusted_variable(variable().c_str()).value_or("");
  return text;
}
/// The routine that the text names, if any.
std::optional<Routine> forced_routine() {
  static const std::optional<Routine> routine = [] {
    const auto found = std::ranges::find(kNames, forced_text(), [](const auto& n) { return std::string_view(n.name); });
    return found == std::end(kNames) ? std::nullopt : std::optional(found->routine);
  }();
  return routine;
}

}  // namespace

std::string wrong_solver() {
  if (forced_text().empty() || forced_routine()) return {};
  return variable() + " is '" + forced_text() + "', not own, small or large";
}

Routine routine_for(const MatrixBatch& batch) {
  if (const std::optional<Routine> forced = forced_routine()) return *forced;
  Routine routine = Routine::native;
  const int side = std::max(batch.rows, batch.columns);
  const char letter = "sdcz"[static_cast<int>(batch.type)];
  for (const Crossover& c : crossovers())
    if (c.kind == batch.kind && std::strchr(c.types, letter) != nullptr && side >= c.side && batch.count >= c.count)
      routine = c.routine;
  return routine;
}

}  // namespace tern::gpu
