// Figures as JSON, for tests/scripts/gpu_model.py, which explains them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "schema/program.h"
#include "tests/gpu/model/measured.h"
#include "tests/gpu/model/resources.h"

namespace tern::gpu_model {

struct Assembler {
  std::string ptxas;  // empty: there is none, and so no resources
  std::string cache;  // folder for PTX and what ptxas says of it; empty: none, and no ptxas
};

nlohmann::json to_json(const Measured& measured, const Program& program, const Assembler& assembler);

}  // namespace tern::gpu_model
