// Names of states that a file has under another module path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Changes names of a file to those of states: leading modules are removed, others put before the rest.
struct ModulePrefix {
  std::string removed, added;  ///< empty, or with the dot at the end

  /// Empty if the name does not begin with `removed`.
  std::string state_name(std::string_view name) const;
};

/// The prefix with which most names are states of the program: none if any name is one as it is. A wrapper adds modules
/// (tern.export_llm stores 'model.layers.0.weight' as 'model.model.layers.0.weight'), and a checkpoint may have others.
/// Fails (invalid_argument) if several prefixes fit equally well.
ModulePrefix find_prefix(const Program& program, const std::vector<std::string>& names);

/// The state whose name shares the longest beginning and end with `name`, as "; the nearest is 'NAME'"; empty for
/// programs without states.
std::string nearest_state(const Program& program, std::string_view name);

}  // namespace tern
