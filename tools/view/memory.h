// The planned memory of a run: positions and lifetimes of values in the arena, and the chosen algorithms. Nothing runs.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "schema/program.h"

namespace tern::view {

/// An array with an object for each function: its number, "problem" if planning fails, else "algorithms" ([node, name],
/// ...) and "sections". A section has "bytes" of its arena, "scratch", "steps" (the node's number of each) and
/// "blocks": {"offset", "bytes", "first", "last": steps, "values"}. Blocks without values are copies.
nlohmann::json planned_memory(const std::shared_ptr<const Program>& program,
                              const std::map<std::string, std::int64_t>& sizes);

}  // namespace tern::view
