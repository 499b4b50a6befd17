// Plans a program and asks its device for every kernel that runs of such sizes would need, without running anything: so
// that export learns which texts there are.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/prepared.h"

namespace tern {

/// For every function that these values of the program's symbols fit. The device takes launches and copies and need not
/// do them; numbers that are read from it should be small and above 0. Returns how many functions did not fit.
std::size_t rehearse(const PreparedProgram& prepared, std::span<const std::int64_t> symbols);

}  // namespace tern
