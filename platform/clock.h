// Dates of this place.
#pragma once

#include <ctime>

namespace tern::platform {

/// Date and time of day in the user's time zone. Zeros after a failure.
std::tm local_time(std::time_t time);

}  // namespace tern::platform
