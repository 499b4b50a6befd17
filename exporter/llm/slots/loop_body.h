// The bodies of loops over texts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Nodes of one text that run for one text after the other.
struct TextNodes {
  const Function* source = nullptr;
  std::vector<std::size_t> nodes;                         ///< of `source`, in their order
  std::vector<ValueId> operands;                          ///< values of `source` that they read
  std::vector<std::pair<ValueId, std::uint32_t>> states;  ///< and weights
  std::vector<ValueId> results;
};

/// A new function with these operands and results.
std::uint32_t text_body(Program& program, const std::string& name, const TextNodes& nodes);

/// The same, run for a slot: its operands are the row of the slot's text among those of this run, int64[], then
/// `nodes.operands`, of which those in `in_rows` are of all texts of the run, `texts` in front, and the others of this
/// slot. Where the row is negative the slot's text does not take part, and the results are zeros.
std::uint32_t slot_body(Program& program, const std::string& name, const TextNodes& nodes,
                        const std::vector<bool>& in_rows, Dim texts);

}  // namespace tern
