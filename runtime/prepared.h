// A program made ready: what can be decided once for all sizes and sessions, and what its sessions share.
#pragma once

#include <tern/tern.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/facts.h"
#include "schema/program.h"
#include "threads/threads.h"

namespace tern {

class Device;
class Constants;
class ArchivedKernels;
class PartCompiler;
class Plans;
class SharedWeights;
class WeightCache;

/// Weights that kernels packed, for an archive that is being made. Key: storage and the kernel's description of the
/// layout.
struct PackRecorder {
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::byte>> packed;
};

/// Is told of every step whose kernel has several algorithms, once it is prepared for some sizes.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  /// `number`: the node's in the exported function. `taken`: what computes it.
  virtual void prepared(std::uint32_t function, std::uint32_t number, const Kernel& kernel, const KernelCall& call,
                        AlgorithmChoice taken) = 0;
};

/// Who is told while plans are made; null: nobody. Both belong to the caller, who makes plans on one thread.
struct PlanListeners {
  PackRecorder* recorder = nullptr;
  PlanObserver* observer = nullptr;
};

/// Algorithms of nodes that run, by function and node.
using NodeAlgorithms = std::map<std::pair<std::uint32_t, std::uint32_t>, AlgorithmChoice>;

struct PreparedProgram {
  std::shared_ptr<const Program> program;  ///< as it was exported: what people are told about
  PrepareOptions options;
  std::vector<Function> functions;   ///< what runs: the program's, fused; values have the same numbers
  std::vector<FunctionFacts> facts;  ///< one for each function
  std::vector<bool>
      read_in_bodies;  ///< for each state: a function that is not an entry reads it, so it is not overwritten early
  const KernelTable* kernels = nullptr;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t>
      packings;                                     ///< storage and key to the storage with the packed bytes
  Device* device = nullptr;                         ///< never null
  std::shared_ptr<Constants> constants;             ///< immutable storages, as the device sees them
  std::shared_ptr<const ArchivedKernels> archived;  ///< kernels that the archive brings, where they are permitted
  PartCompiler* parts = nullptr;                    ///< what compiles parts as a whole; null: nothing
  std::map<int, NodeAlgorithms> algorithms;         ///< by number of threads; 0: for every other number
  PlanListeners listeners;
  std::shared_ptr<SharedWeights> weights;  ///< that kernels packed
  std::shared_ptr<WeightCache> cache;      ///< of packed weights on disk; null where nothing is packed for later
  std::shared_ptr<Plans> plans;            ///< that sessions have asked for

  bool rounds = false;  ///< some node's products are not made as exported

  /// In what the node's products are made.
  Precision precision(const Node& node) const;
  /// The algorithm of a node when it runs on so many threads; none: rules choose.
  AlgorithmChoice algorithm(std::uint32_t function, std::uint32_t node, Threads threads) const;
};

enum class Fusion : bool { off, on };

/// What a program is prepared with beside its user's options.
struct PreparationSettings {
  Fusion fusion = Fusion::on;            ///< off is for tests: results have the same bits
  Device* device = nullptr;              ///< instead of the one that the options name
  const KernelTable* kernels = nullptr;  ///< instead of the device's: for tests
  /// Has its nodes done as it says, on any number of threads, instead of as the archive says. Nodes and algorithms that
  /// are not there are passed over.
  const Tuning* tuning = nullptr;
  PlanListeners listeners;
};

/// Fails with the list of all ops that have no kernel.
std::shared_ptr<const PreparedProgram> prepare_program(std::shared_ptr<const Program> program,
                                                       const PrepareOptions& options,
                                                       const PreparationSettings& settings = {});

/// What messages call node `node` of function `function` of those that run.
std::string describe(const PreparedProgram& prepared, std::uint32_t function, std::uint32_t node);

}  // namespace tern
