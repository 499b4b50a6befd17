// Cost of a program's run, planned without running: parameters, floating-point operations, memory.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Cost of an entry function at these sizes. Bodies of control flow count once, however often they run.
struct FunctionCost {
  std::string name;
  std::map<std::string, std::int64_t> sizes;  ///< sizes by symbol name: given, or 32 or the nearest allowed number
  double flops = 0;                           ///< counted by the rules of tern bench
  std::uint64_t arena = 0;                    ///< bytes of intermediate values, results and scratch memory
  std::uint64_t states = 0;                   ///< bytes of each session's copies of mutable state
  std::string problem;                        ///< reason why planning fails; the figures are then undefined

  std::uint64_t peak() const { return arena + states; }
};

struct ProgramCost {
  std::uint64_t parameters = 0, parameter_tensors = 0;  ///< elements; tied parameters count once
  std::uint64_t buffers = 0, buffer_tensors = 0;
  std::vector<std::string> custom_ops;  ///< library operators needed by a run, each once
  std::vector<FunctionCost> functions;  ///< the first 64 entry functions
};

/// FunctionCost::arena of a function, for a trusted program of any size, created by this process. Fails if planning
/// fails. `sizes`: see FunctionCost::sizes.
std::uint64_t arena_of(const Program& program, std::uint32_t function,
                       const std::map<std::string, std::int64_t>& sizes);
/// The sizes of all symbols: given, or 32 or the nearest allowed number.
std::map<std::string, std::int64_t> typical_sizes(const Program& program,
                                                  const std::map<std::string, std::int64_t>& given);

/// The program must obey every rule of the format. Reads no weights and allocates no values.
ProgramCost cost_of(const std::shared_ptr<const Program>& program, const std::map<std::string, std::int64_t>& sizes);

/// Options for planning without running, with a limit for memory. Throws unsupported if the program has too many nodes
/// to plan for an inspection.
PrepareOptions planning_options(const Program& program);

}  // namespace tern
