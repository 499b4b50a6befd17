// The bodies of loops over texts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Nodes of one text, run for one text after another.
struct TextNodes {
  const Function* source = nullptr;
  std::vector<std::size_t> nodes;                         ///< nodes of `source`, in order
  std::vector<ValueId> operands;                          ///< values of `source` read by the nodes
  std::vector<std::pair<ValueId, std::uint32_t>> states;  ///< and weights
  std::vector<ValueId> results;
};

/// A new function with these operands and results.
std::uint32_t text_body(Program& program, const std::string& name, const TextNodes& nodes);

/// Body for a slot. Operands: the row of the slot's text among the run's texts, int64[], then `nodes.operands`.
/// Operands in `in_rows` cover all texts of the run, with `texts` in front; the others belong to the slot. A negative
/// row means an absent text, with zeros as results.
std::uint32_t slot_body(Program& program, const std::string& name, const TextNodes& nodes,
                        const std::vector<bool>& in_rows, Dim texts);

}  // namespace tern
