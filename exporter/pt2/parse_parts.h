// Readers of the parts of a program; used by the parse_*.cpp files alone.
#pragma once

#include <string>
#include <vector>

#include "exporter/pt2/json.h"
#include "exporter/pt2/model.h"

namespace tern::pt2 {

inline constexpr std::size_t kMaxRank = 64;
inline constexpr std::size_t kMaxNameBytes = 4096;

Argument parse_argument(JsonValue value);
std::vector<Argument> parse_arguments(JsonValue value);
Graph parse_graph(JsonValue value);
Signature parse_signature(JsonValue value);
std::vector<ModuleCall> parse_module_calls(JsonValue value);
TensorMeta parse_tensor_meta(JsonValue value);
SymInt parse_sym_int(JsonValue value);
SymFloat parse_sym_float(JsonValue value);
SymBool parse_sym_bool(JsonValue value);

/// "cpu", "cuda:0"
std::string parse_device(JsonValue value);
std::vector<std::string> parse_strings(JsonValue value);
/// An object of strings.
std::vector<std::pair<std::string, std::string>> parse_string_pairs(JsonValue value);
/// The name in {"name": ...}, an identifier.
std::string parse_name(JsonValue value);
/// Parses the name of a value, an op or a tensor: 1 to kMaxNameBytes bytes, without NUL.
std::string parse_identifier(JsonValue value);
/// The value's key, under the rule of parse_identifier().
std::string parse_key(JsonValue value);

}  // namespace tern::pt2
