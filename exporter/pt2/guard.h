// Reads the relations between sizes that PyTorch writes to guards_code, as Python text:
// "L['x'].size()[0] > 2*L['y'].stride()[1]". torch/fx/experimental/symbolic_shapes.py (ShapeGuardPythonPrinter) has
// the notation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/pt2/sympy.h"

namespace tern::pt2 {

/// A number that a guard reads from an input.
struct GuardSource {
  enum class Property : std::uint8_t { value, size, stride, storage_offset };
  std::vector<std::string> path;  ///< L['d']['a'][0] is d, a, 0
  Property property = Property::value;
  std::int64_t axis = 0;  ///< axis of a size or a stride
  std::string text;       ///< "d.a.0.shape[1]", for messages
};

struct Guard {
  SymExpr expr;                      ///< a symbol's `value` is its number in `sources`, and its name that source's text
  std::vector<GuardSource> sources;  ///< each once
  std::string text;                  ///< the relation for people: "x.shape[0] > 2*y.stride(1)"
};

/// The name that messages use for an input.
using InputName = std::function<std::string(const std::vector<std::string>& path)>;

/// Throws unsupported, naming the column, where the text has another form.
Guard parse_guard(std::string_view text, const InputName& input_name);

}  // namespace tern::pt2
