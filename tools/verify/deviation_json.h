// Errors as JSON, for the reports of several commands.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/verify/results.h"

namespace tern {

nlohmann::ordered_json json_of(const Deviation& deviation);
nlohmann::ordered_json json_of(const ResultDeviation& result);

}  // namespace tern
