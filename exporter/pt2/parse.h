// Reads the ExportedProgram JSON of a .pt2 file, and the tables of weight locations, into the structs of model.h.
#pragma once

#include <string_view>

#include "exporter/pt2/container.h"
#include "exporter/pt2/model.h"

namespace tern::pt2 {

/// Reads one program; `model` may be empty for an archive with a single program. Throws Error, naming the entry and the
/// JSON path: bad_file for JSON against its schema, unsupported for schema major versions other than 8. Checks besides
/// the schema: the signature has one spec for each input and output of the graph; tensors of weights and constants lie
/// inside their entries. Empty entries of non-empty tensors are accepted: their data was not saved.
Program parse_program(const Container& container, std::string_view model = {});

/// Reads the JSON alone: weights and constants stay empty. `entry` names the source in messages.
Program parse_program_json(std::string_view json, std::string_view entry);

}  // namespace tern::pt2
