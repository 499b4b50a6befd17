// State common to the functions of one model during import.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "exporter/import/missing.h"
#include "exporter/import/origins.h"
#include "exporter/import/symbols.h"
#include "exporter/importer.h"
#include "exporter/pt2/model.h"
#include "schema/program.h"

namespace tern::importing {

/// True if the graph or a subgraph makes dual numbers: duals.cpp.
bool makes_duals(const pt2::Graph& graph);

struct Shared {
  Shared(Program& p, const pt2::Program& m, Symbols& s, Missing& missing, const ImportOptions& options)
      : program(p),
        model(m),
        symbols(s),
        missing(missing),
        options(options),
        origins(p),
        is_differentiated(options.transform || makes_duals(m.graph)) {}

  /// Function of invoke_subgraph, and its written operands.
  struct Subgraph {
    std::uint32_t function = 0;
    std::vector<std::size_t> written;
  };

  Program& program;
  const pt2::Program& model;
  Symbols& symbols;
  Missing& missing;
  const ImportOptions& options;
  Origins origins;
  /// Derivatives are taken of the lowered functions: nodes keep their operators' names, and PyTorch's detach points are
  /// marked.
  const bool is_differentiated;
  std::map<const pt2::Graph*, std::set<std::string>> names_read;  ///< keyed by walked graphs
  std::map<std::string, Subgraph, std::less<>> subgraphs;         ///< keyed by identifier and operand types
  std::size_t traced_nodes = 0;
  std::vector<std::string> warnings;
};

}  // namespace tern::importing
