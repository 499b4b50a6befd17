// A plan: what to run for one section of a function at known sizes, and where in memory each value lies. It never
// changes once it is made: sessions share it, and keep the addresses and the memory of their runs themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "threads/threads.h"

namespace tern {

struct Plan;

/// What a plan is made for.
struct PlanKey {
  std::uint32_t function = 0, section = 0;
  std::vector<std::int64_t> symbols;  ///< the values of those that the function depends on
  /// Kernels divide their work and their scratch memory among them. A device's plans are the same for any number.
  Threads threads{1};
  std::shared_ptr<const Plan> before;  ///< of the section before, whose values this one reads where they were placed
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

/// Where a view's bytes begin: in one of the memories that a frame has.
struct Location {
  enum class Kind : std::uint8_t {
    none,     ///< absent
    arena,    ///< the section's arena; index: the section
    input,    ///< position in Function::inputs
    state,    ///< number of the state
    dynamic,  ///< memory whose size only its kernel knows; index: the value
  };
  Kind kind = Kind::none;
  std::uint32_t index = 0;
  std::int64_t offset = 0;  ///< bytes
  friend bool operator==(const Location&, const Location&) = default;
};

/// A value at known sizes: its view (data not set) and where it lies.
struct Placed {
  TensorView view;
  Location at;
};

struct Step {
  enum class Kind : std::uint8_t { kernel, copy, control, item, assert_true };
  Kind kind = Kind::kernel;
  std::uint32_t node = 0;    ///< in the function that runs
  std::uint32_t number = 0;  ///< the node's in the exported function, for people
  const Kernel* kernel = nullptr;
  const Node* resolved = nullptr;  ///< the node with constant attributes
  std::uint32_t args = 0;          ///< first of this step's entries in Plan::args
  std::uint32_t inputs = 0, outputs = 0;
  std::uint32_t members = 0;  ///< of a part that the device compiled: its nodes, of which `node` is the last
  std::uint64_t scratch = 0;  ///< bytes
  std::unique_ptr<const KernelState> state;
  std::vector<Upcoming> upcoming;

  /// A call of its kernel with these of its inputs and outputs, `flags` saying which are constant: what the step knows.
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

struct Plan {
  PlanKey key;
  std::vector<std::unique_ptr<const Node>> nodes;  ///< owns resolved nodes that differ from the program's
  std::vector<Step> steps;
  std::vector<TensorView> args;                    ///< of all steps; data is set for constants alone
  std::vector<Location> locations;                 ///< one for each of args
  std::unique_ptr<bool[]> constant;                ///< one for each of args: bytes that never change
  std::vector<std::pair<ValueId, Placed>> placed;  ///< the values that this section makes
  std::vector<Placed> outputs;                     ///< of the function, in the plan of its last section
  /// For each of `outputs` that fills a block of the arena by itself: the arguments in that block, all of which can
  /// move elsewhere together. Empty for others.
  std::vector<std::vector<std::uint32_t>> output_args;
  std::uint64_t arena_bytes = 0;
  std::uint64_t scratch_bytes = 0;
};

}  // namespace tern
