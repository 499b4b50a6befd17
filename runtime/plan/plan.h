// A plan: the steps of one section of a function at known sizes, and the memory location of each value. Plans are
// immutable and shared by sessions; sessions own addresses and memory of their runs.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "threads/threads.h"

namespace tern {

struct SectionPlan;

/// Key of a plan.
struct PlanKey {
  std::uint32_t function = 0, section = 0;
  std::vector<std::int64_t> symbols;  ///< values of the function's symbols
  /// Kernels divide their work and scratch memory among threads. Plans of other devices do not depend on the thread
  /// count.
  Threads threads{1};
  std::shared_ptr<const SectionPlan>
      previous;  ///< plan of the previous section; this section reads its values in place
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

/// Start of a view's bytes within the memories of a frame.
struct Location {
  enum class Kind : std::uint8_t {
    none,     ///< absent
    arena,    ///< the section's arena; index: the section
    input,    ///< position in Function::inputs
    state,    ///< number of the state
    dynamic,  ///< memory sized by its kernel at run time; index: the value
  };
  Kind kind = Kind::none;
  std::uint32_t index = 0;
  std::int64_t offset = 0;  ///< bytes
  friend bool operator==(const Location&, const Location&) = default;
};

/// A value at known sizes: its view (data not set) and location.
struct Placed {
  TensorView view;
  Location location;
};

struct PlanStep {
  enum class Kind : std::uint8_t { kernel, copy, control, item, assert_true };
  Kind kind = Kind::kernel;
  std::uint32_t node = 0;    ///< index in the running function
  std::uint32_t number = 0;  ///< exported number of the node, for messages
  const Kernel* kernel = nullptr;
  const Node* resolved = nullptr;  ///< the node with constant attributes
  std::uint32_t args = 0;          ///< first of this step's entries in SectionPlan::args
  std::uint32_t inputs = 0, outputs = 0;
  std::uint32_t members = 0;  ///< nodes of a part compiled by the device; `node` is the last
  std::uint64_t scratch = 0;  ///< bytes
  std::unique_ptr<const KernelState> state;
  std::vector<Upcoming> upcoming;

  /// Call of the step's kernel with these inputs and outputs; `flags` marks constants. Fills in the fields known to the
  /// step.
  KernelCall call(TensorView* views, const bool* flags) const {
    KernelCall c;
    c.node = resolved;
    c.in = {views, inputs};
    c.out = {views + inputs, outputs};
    c.state = state.get();
    c.constant = flags;
    c.upcoming = upcoming;
    return c;
  }
};

struct SectionPlan {
  PlanKey key;
  std::vector<std::unique_ptr<const Node>> nodes;  ///< owns resolved nodes different from the program's
  std::vector<PlanStep> steps;
  std::vector<TensorView> args;                    ///< arguments of all steps; data is set for constants alone
  std::vector<Location> locations;                 ///< parallel to args
  std::unique_ptr<bool[]> constant;                ///< parallel to args: true for constant bytes
  std::vector<std::pair<ValueId, Placed>> placed;  ///< values produced by this section
  std::vector<Placed> outputs;                     ///< results of the function; set for the last section only
  /// Movable outputs, parallel to `outputs`: the arguments in the block of an output that is alone in its block. Empty
  /// for other outputs.
  std::vector<std::vector<std::uint32_t>> output_args;
  std::uint64_t arena_bytes = 0;
  std::uint64_t scratch_bytes = 0;
};

}  // namespace tern
