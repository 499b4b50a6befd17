// Figures as JSON for tests/scripts/gpu_model.py, with explanations there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "schema/program.h"
#include "tests/gpu/model/measured.h"
#include "tests/gpu/model/resources.h"

namespace tern::gpu_model {

struct Assembler {
  std::string ptxas;  // empty: no ptxas, and so no resources
  std::string cache;  // folder for PTX and ptxas's output; empty: no cache, and no ptxas
};

nlohmann::json to_json(const Measured& measured, const Program& program, const Assembler& assembler);

}  // namespace tern::gpu_model
