// Packs a program's weights for the processor at hand, so that an archive can carry them packed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/prepared.h"
#include "schema/program.h"

namespace tern {

/// Plans every function at the given sizes (a symbol that has none takes a typical value inside its range) and returns
/// what kernels packed. Functions that cannot be planned so are left out: their weights are packed at load.
PackRecorder pack_weights(const std::shared_ptr<const Program>& program,
                          const std::map<std::string, std::int64_t>& sizes);

}  // namespace tern
