// Size-independent facts about a function: its sections, the last reader of each value, and memory reuse.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "schema/program.h"

namespace tern {

/// A run of nodes; all their sizes are known once earlier nodes have run.
struct Section {
  std::uint32_t begin = 0, end = 0;
};

inline constexpr std::uint32_t kNeverUsed = 0;
inline constexpr std::uint32_t kUsedToTheEnd = ~0u;

/// Size-independent facts about a function.
struct FunctionFacts {
  std::vector<Section> sections;
  std::vector<std::uint32_t> last_use;       ///< last reader of each value + 1, kUsedToTheEnd for results
  std::vector<std::uint32_t> section_of;     ///< section producing each value (0 for inputs)
  std::vector<std::uint32_t> numbers;        ///< exported number of each node
  std::vector<std::uint32_t> symbols;        ///< symbols used by the function's types and attributes
  std::vector<std::uint32_t> first_of_form;  ///< first node of equal form (schema/forms.h)
  std::vector<std::int32_t> permuted_by;     ///< the only reader of each value if a permutation, else -1
  /// Write-back receiving each value through in-place updates alone, or -1.
  std::vector<std::int32_t> written_to;
};

/// `numbers` stays empty: fusion fills in the numbers.
FunctionFacts find_facts(const Program& program, const Function& f, const KernelTable& kernels);

}  // namespace tern
