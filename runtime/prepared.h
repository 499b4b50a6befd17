// A prepared program: decisions made once for all sizes and sessions, and data shared by the sessions.
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

/// Packed weights for an archive under construction. Key: storage and the kernel's description of the layout.
struct PackRecorder {
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::byte>> packed;
};

/// Observer of prepared steps with several algorithms.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  /// `number`: the node's exported number. `choice`: the chosen algorithm.
  virtual void prepared(std::uint32_t function, std::uint32_t number, const Kernel& kernel, const KernelCall& call,
                        AlgorithmChoice choice) = 0;
};

/// Listeners during planning; null: none. Both belong to the caller; the caller makes plans on a single thread.
struct PlanListeners {
  PackRecorder* recorder = nullptr;
  PlanObserver* observer = nullptr;
};

/// Algorithms of running nodes, by function and node.
using NodeAlgorithms = std::map<std::pair<std::uint32_t, std::uint32_t>, AlgorithmChoice>;

struct PreparedProgram {
  std::shared_ptr<const Program> program;  ///< the exported program, for messages
  PrepareOptions options;
  std::vector<Function> functions;   ///< functions that run: fused, with the same value numbers
  std::vector<FunctionFacts> facts;  ///< parallel to functions
  std::vector<bool> read_in_bodies;  ///< states read by a non-entry function; such states are not overwritten early
  const KernelTable* kernels = nullptr;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t>
      packings;                                     ///< maps storage and key to the storage with the packed bytes
  Device* device = nullptr;                         ///< never null
  std::shared_ptr<Constants> constants;             ///< constant storages on the device
  std::shared_ptr<const ArchivedKernels> archived;  ///< compiled kernels of the archive, if permitted
  PartCompiler* part_compiler = nullptr;            ///< compiler for parts; null: none
  std::map<int, NodeAlgorithms> algorithms;         ///< keyed by thread count; 0: for every other count
  PlanListeners listeners;
  std::shared_ptr<SharedWeights> weights;  ///< packed by kernels
  std::shared_ptr<WeightCache> cache;      ///< packed weights on disk; null if no weights are packed in the background
  std::shared_ptr<Plans> plans;            ///< plans requested by sessions

  bool rounds = false;  ///< true if some node computes products in another precision than exported

  /// Precision of the node's products.
  Precision precision(const Node& node) const;
  /// Algorithm of a node for a thread count; none: chosen by rules.
  AlgorithmChoice algorithm(std::uint32_t function, std::uint32_t node, Threads threads) const;
};

enum class Fusion : bool { disabled, enabled };

/// Internal settings of preparation, in addition to the user's options.
struct PreparationSettings {
  Fusion fusion = Fusion::enabled;       ///< off for tests: results have equal bits
  Device* device = nullptr;              ///< replaces the device named by the options
  const KernelTable* kernels = nullptr;  ///< replaces the device's kernels, for tests
  /// Forces algorithms of nodes for any thread count, replacing the archive's choices. Ignores unknown nodes and
  /// algorithms.
  const Tuning* tuning = nullptr;
  PlanListeners listeners;
};

/// Fails with a list of all ops without a kernel.
std::shared_ptr<const PreparedProgram> prepare_program(std::shared_ptr<const Program> program,
                                                       const PrepareOptions& options,
                                                       const PreparationSettings& settings = {});

/// Names node `node` of running function `function` in messages.
std::string describe(const PreparedProgram& prepared, std::uint32_t function, std::uint32_t node);

}  // namespace tern
