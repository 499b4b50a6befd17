// The record of an op, for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "schema/op_record.h"

namespace tern {

std::string record_text(const OpRecord& record);
nlohmann::ordered_json record_json(const OpRecord& record);

}  // namespace tern
