// What a run of a program takes: parameters, floating-point operations, memory. Planned, not run.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Of an entry function at these sizes. Bodies of control flow count once, however often they run.
struct FunctionCost {
  std::string name;
  std::map<std::string, std::int64_t> sizes;  ///< by the names of symbols: given, or 32 or the nearest allowed
  double flops = 0;                           ///< as tern bench counts them
  std::uint64_t arena = 0;                    ///< bytes of intermediate values, results and scratch memory
  std::uint64_t states = 0;                   ///< bytes of each session's copies of mutable state
  std::string problem;                        ///< why it cannot be planned; then the figures mean nothing

  std::uint64_t peak() const { return arena + states; }
};

struct ProgramCost {
  std::uint64_t parameters = 0, parameter_tensors = 0;  ///< elements; tied ones count once
  std::uint64_t buffers = 0, buffer_tensors = 0;
  std::vector<std::string> custom_ops;  ///< operators of libraries that a run needs, each once
  std::vector<FunctionCost> functions;  ///< the first 64 entry functions
};

/// FunctionCost::arena of one function, of a program that this process made: of any size. Fails where it cannot be
/// planned. `sizes` as FunctionCost::sizes has them.
std::uint64_t arena_of(const Program& program, std::uint32_t function,
                       const std::map<std::string, std::int64_t>& sizes);
/// The sizes of all symbols: given, or 32 or the nearest allowed.
std::map<std::string, std::int64_t> typical_sizes(const Program& program,
                                                  const std::map<std::string, std::int64_t>& given);

/// The program must keep every rule of the format. Nothing of the weights is read, and nothing is allocated for values.
ProgramCost cost_of(const std::shared_ptr<const Program>& program, const std::map<std::string, std::int64_t>& sizes);

/// Options for planning without running, with a limit for memory. Throws unsupported where the program has too many
/// nodes to be planned for a look at it.
PrepareOptions planning_options(const Program& program);

}  // namespace tern
