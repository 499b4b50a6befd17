// Operator schemas of PyTorch: names, types and defaults of arguments, absent from .pt2 files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/pt2/model.h"

namespace tern::pt2 {

struct SchemaType {
  enum class Base : std::uint8_t {
    tensor,
    integer,
    sym_int,
    real,  ///< float
    complex,
    number,  ///< Scalar
    boolean,
    string,
    scalar_type,
    layout,
    device,
    memory_format,
    generator,
    other,  ///< Any, Dict, tuples, classes, type variables
  };
  Base base = Base::other;
  bool is_list = false;
  bool optional = false;          ///< accepts None: Tensor?, int[]?
  bool element_optional = false;  ///< accepts None as an element: Tensor?[]
  int list_size = 0;              ///< 2 for int[2], with a lone int n meaning [n, n]; 0 if not given
  std::string text;               ///< written text without the alias annotation
};

struct SchemaArgument {
  std::string_view name;  ///< mostly empty for returns
  SchemaType type;
  std::string_view alias;   ///< text in the parentheses: "a!", "a", "b|a", "a -> *"; mostly empty
  bool is_mutated = false;  ///< the alias has "!"
  bool kwarg_only = false;
  bool has_default = false;
  Argument default_value;  ///< typed as .pt2 files would: kind integer for "int dim=0"

  bool is_alias() const { return !alias.empty(); }
};

struct Schema {
  std::string_view name;  ///< "aten::add.Tensor"; "aten::relu" for the default overload
  std::string_view text;  ///< the whole line
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaArgument> returns;
  bool is_vararg = false;  ///< takes any further arguments: "..."

  /// Null if no argument has the name.
  const SchemaArgument* find(std::string_view argument) const;
  bool mutates() const;  ///< writes an argument
};

/// "aten::add.Tensor" for "torch.ops.aten.add.Tensor", "aten::relu" for "torch.ops.aten.relu.default"; "" for other
/// targets.
std::string schema_name(std::string_view target);

/// Finds a schema by the name from schema_name; null for ops absent from PyTorch 2.12 to 2.15. The newest of several
/// versions wins. The result lives as long as the process. Safe to call from several threads.
const Schema* find_schema(std::string_view name);

/// Schema of the node's target: the newest version with every argument named by the node.
const Schema* find_schema(const Node& node);

/// Parses one line. The result refers to its text. Throws Error: bad_file.
Schema parse_schema(std::string_view line);

/// All lines, sorted by name.
std::span<const std::string_view> schema_lines();

}  // namespace tern::pt2
