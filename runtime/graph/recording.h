// A captured run: its steps with all addresses, in order. Each body of control flow is a recording of its own.
#pragma once

#include <tern/error.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/devices/abilities.h"
#include "runtime/graph/timed_graph.h"
#include "runtime/plan/plan.h"

namespace tern {

struct Recording;

/// Plans and their steps belong to the frames of the captured run.
struct RecordedKernel {
  const PlanStep* step = nullptr;
  std::vector<TensorView> args;    ///< operands, then results
  const bool* constant = nullptr;  ///< KernelCall::constant
};
struct RecordedCopy {
  TensorView source, destination;
};
/// Copies from the caller's memory, and back to the host.
struct RecordedUpload {
  std::byte* destination = nullptr;
  const void* source = nullptr;
  std::uint64_t bytes = 0;
};
struct RecordedDownload {
  void* destination = nullptr;
  const std::byte* source = nullptr;
  std::uint64_t bytes = 0;
};
/// A check of the program: one boolean.
struct RecordedCheck {
  TensorView value;
  std::string text;
};
struct RecordedBranch {
  TensorView predicate;
  std::unique_ptr<Recording> chosen, otherwise;
};
/// Runs the condition (producing the predicate), and the body while the predicate holds.
struct RecordedLoop {
  TensorView predicate;
  std::unique_ptr<Recording> condition, body;
};
/// Steps in a graph of the device. Traced runs use `timed`; measured runs, and traced runs on devices without times of
/// graphs, use `items`.
struct RecordedGraph {
  std::unique_ptr<DeviceGraph> graph;
  std::unique_ptr<Recording> items;
  std::unique_ptr<TimedGraph> timed;
};
struct RecordedItem {
  std::variant<RecordedKernel, RecordedCopy, RecordedUpload, RecordedDownload, RecordedCheck, RecordedBranch,
               RecordedLoop, RecordedGraph>
      operation;
  std::uint32_t function = 0, node = 0;  ///< function and node of running items belonging to a node
};

struct Recording {
  std::vector<RecordedItem> items;
  std::uint32_t function = 0, node = 0;  ///< function and node of added items

  /// Unrolls loops over rows: fails with ErrorCode::unsupported before too many steps fill the memory.
  template <class T>
  void add(T operation) {
    constexpr std::size_t kMaxItems = std::size_t{1} << 18;
    if (items.size() >= kMaxItems) fail(ErrorCode::unsupported, "the graph has more than 262144 steps");
    items.push_back({std::move(operation), function, node});
  }
};

}  // namespace tern
