// The operator schemas of PyTorch: names, types and defaults of arguments, which .pt2 files leave out.
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
  bool optional = false;          ///< None is a value: Tensor?, int[]?
  bool element_optional = false;  ///< None may be an element: Tensor?[]
  int list_size = 0;              ///< 2 of int[2], for which a lone int stands for [n, n]; 0 when not given
  std::string text;               ///< as written, without the alias annotation
};

struct SchemaArgument {
  std::string_view name;  ///< of a return mostly empty
  SchemaType type;
  std::string_view alias;   ///< what stands in the parentheses: "a!", "a", "b|a", "a -> *"; mostly empty
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

  /// Null when there is none of that name.
  const SchemaArgument* find(std::string_view argument) const;
  bool mutates() const;  ///< writes an argument
};

/// "aten::add.Tensor" of "torch.ops.aten.add.Tensor", "aten::relu" of "torch.ops.aten.relu.default"; "" when it is no
/// operator's name.
std::string schema_name(std::string_view target);

/// By the name that schema_name gives; null when PyTorch 2.12 to 2.15 have no such op. Where versions differ, the
/// newest. The result lives as long as the process. Safe to call from several threads.
const Schema* find_schema(std::string_view name);

/// The schema of the node's target; where versions differ, the newest that has every argument the node names.
const Schema* find_schema(const Node& node);

/// Parses one line, whose text must outlive the result. Throws Error: bad_file.
Schema parse_schema(std::string_view line);

/// All lines, sorted by name.
std::span<const std::string_view> schema_lines();

}  // namespace tern::pt2
