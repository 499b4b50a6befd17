// Reads the ExportedProgram JSON of a .pt2 file, and the tables that say where its weights are, into the structs of
// model.h.
#pragma once

#include <string_view>

#include "exporter/pt2/container.h"
#include "exporter/pt2/model.h"

namespace tern::pt2 {

/// Reads one program; `model` may be empty when the archive holds only one. Throws Error, naming the entry and the JSON
/// path: bad_file when the JSON breaks its schema, unsupported when the schema's major version is not 8. Checked
/// besides the schema: the signature has one spec for each input and output of the graph, and the tensors of weights
/// and constants lie inside their entries. An entry of no bytes with a tensor of some elements is let through: its data
/// was not saved.
Program parse_program(const Container& container, std::string_view model = {});

/// As above, for the JSON alone: weights and constants stay empty. `entry` stands for the source in messages.
Program parse_program_json(std::string_view json, std::string_view entry);

}  // namespace tern::pt2
