// Parses size relations from guards_code, as Python text: "L['x'].size()[0] > 2*L['y'].stride()[1]". The notation is
// from torch/fx/experimental/symbolic_shapes.py (ShapeGuardPythonPrinter).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/pt2/sympy.h"

namespace tern::pt2 {

/// Number read by a guard from an input.
struct GuardSource {
  enum class Property : std::uint8_t { value, size, stride, storage_offset };
  std::vector<std::string> path;  ///< L['d']['a'][0] is d, a, 0
  Property property = Property::value;
  std::int64_t axis = 0;  ///< axis of a size or a stride
  std::string text;       ///< "d.a.0.shape[1]", for messages
};

struct Guard {
  SymExpr expr;                      ///< a symbol's `value` is its index in `sources`, its name the source's text
  std::vector<GuardSource> sources;  ///< each once
  std::string text;                  ///< the relation for people: "x.shape[0] > 2*y.stride(1)"
};

/// Returns the name of an input for messages.
using InputName = std::function<std::string(const std::vector<std::string>& path)>;

/// Throws unsupported, naming the column, for text in another form.
Guard parse_guard(std::string_view text, const InputName& input_name);

}  // namespace tern::pt2
