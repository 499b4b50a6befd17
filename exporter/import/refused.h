// Refused operators, each with a reason and a replacement. docs/ops.md lists them.
#pragma once

#include <span>
#include <string_view>

namespace tern::importing {

struct Refusal {
  std::string_view name;  ///< has no overload; a whole namespace ends in '.'
  std::string_view reason;
};
std::span<const Refusal> refusals();

/// Reason for refusing an operator; empty if the table has none. `target` may have an overload.
std::string_view reason_against(std::string_view target);

}  // namespace tern::importing
