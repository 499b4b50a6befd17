// Arbitrary text as the JSON of a program; also parses its symbolic expressions, metadata and schemas.
#include <tern/error.h>

#include <cstddef>
#include <cstdint>

#include "exporter/pt2/aten_schema.h"
#include "exporter/pt2/metadata.h"
#include "exporter/pt2/parse.h"
#include "exporter/pt2/sympy.h"

namespace {

template <class Act>
void tolerate(Act act) {
  try {
    act();
  } catch (const tern::Error&) {
  }
}

void read_further(const tern::pt2::Graph& graph) {
  for (const auto& value : graph.sym_int_values) tolerate([&] { to_text(tern::pt2::parse_sympy(value.second.expr)); });
  for (const auto& node : graph.nodes) {
    source_info(node);
    custom_annotations(node);
    tern::pt2::find_schema(node);
    for (const auto& input : node.inputs)
      if (input.arg.graph) read_further(*input.arg.graph);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tolerate([&] { read_further(tern::pt2::parse_program_json(text, "fuzz").graph); });
  tolerate([&] { to_text(tern::pt2::parse_sympy(text)); });
  tolerate([&] { tern::pt2::parse_schema(text); });
  return 0;
}
