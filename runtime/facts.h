// What is known of a function before any size is: where it is divided, who reads each value last, which memory a value
// may take over.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "schema/program.h"

namespace tern {

/// A run of nodes whose sizes are all known once the nodes before it have run.
struct Section {
  std::uint32_t begin = 0, end = 0;
};

inline constexpr std::uint32_t kNeverUsed = 0;
inline constexpr std::uint32_t kUsedToTheEnd = ~0u;

/// Facts about a function that do not depend on sizes.
struct FunctionFacts {
  std::vector<Section> sections;
  std::vector<std::uint32_t> last_use;    ///< for each value: number of the last node that reads it + 1, kUsedToTheEnd
                                          ///< for results and write-backs
  std::vector<std::uint32_t> section_of;  ///< for each value: the section that makes it (0 for inputs)
  std::vector<std::uint32_t> numbers;     ///< for each node: its number in the exported function
  std::vector<std::uint32_t> symbols;     ///< those that its types and attributes depend on
  std::vector<std::uint32_t> first_of_form;  ///< for each node (schema/forms.h)
  std::vector<std::int32_t> permuted_by;     ///< for each value: the permutation that alone reads it, or -1
  /// For each value: the number of the write-back whose target it becomes the content of, through updates in place
  /// alone, or -1.
  std::vector<std::int32_t> written_to;
};

/// `numbers` stays empty: whoever merged nodes knows them.
FunctionFacts find_facts(const Program& program, const Function& f, const KernelTable& kernels);

}  // namespace tern
