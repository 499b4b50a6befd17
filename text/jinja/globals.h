// Functions of the environment of chat templates.
#pragma once

#include <cstdint>
#include <optional>

#include "text/jinja/interpreter.h"

namespace tern::jinja {

/// Adds range, dict, namespace, raise_exception and strftime_now. `time`: seconds since 1970; empty: the present.
void add_globals(Scope& scope, std::optional<std::int64_t> time);

}  // namespace tern::jinja
