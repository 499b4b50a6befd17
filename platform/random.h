// Random numbers from the system.
#pragma once

#include <cstdint>

namespace tern::platform {

/// Unpredictable; 0 if the system refuses.
std::uint64_t random_number();

}  // namespace tern::platform
