// Packs a program's weights for this processor, for storing in an archive.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/prepared.h"
#include "schema/program.h"

namespace tern {

/// Plans every function at the given sizes and returns the kernels' packed weights. Symbols without a size take a
/// typical value in their range. Functions without a plan at these sizes are skipped: their weights are packed at load
/// time.
PackRecorder pack_weights(const std::shared_ptr<const Program>& program,
                          const std::map<std::string, std::int64_t>& sizes);

}  // namespace tern
