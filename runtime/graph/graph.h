// Implementation of Graph: captured runs of sessions, each with its own frames and memory.
#pragma once

#include <tern/graph.h>

#include <atomic>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "runtime/graph/recording.h"
#include "runtime/session.h"

namespace tern {

struct CapturedRun {
  std::shared_ptr<SessionImpl> session;
  SessionContext context;
  std::unique_ptr<Frame> frame;
  Recording recording;
  std::vector<Tensor> inputs, outputs;  ///< inputs keep the caller's memory alive if it has an owner
  std::vector<TensorView> results;      ///< results in the session's memory
  std::unique_ptr<Transfer> transfer;
};

class GraphImpl {
 public:
  ~GraphImpl() { reset(); }
  void begin(const Stream& stream);
  void end();
  void replay();
  void reset() noexcept;
  /// Fails during a replay: operators of the replay may call the graph.
  void check_idle() const;
  bool is_replaying() const { return replaying_; }
  bool is_dropped = false;  ///< set if the Graph was dropped during a replay: its end deletes this object
  /// Records a run of a session; its results hold values after a replay. `into`: see SessionImpl::run.
  const std::vector<Tensor>& record(std::shared_ptr<SessionImpl> session, std::uint32_t function,
                                    std::span<const Tensor> inputs, CallerOutputs* caller_outputs);

  const std::vector<GraphNode>& nodes() const { return nodes_; }
  std::uint64_t memory_bytes() const;
  std::size_t device_graphs() const;

 private:
  void chain(CapturedRun& run, std::span<const TensorView> inputs) const;
  void list_nodes(const CapturedRun& run, const Recording& recording, int depth);

  std::shared_ptr<StreamImpl> stream_;
  std::vector<GraphNode> nodes_;
  bool complete_ = false;
  std::atomic<bool> replaying_ = false;
  std::list<CapturedRun> captured_runs_;
};

}  // namespace tern
