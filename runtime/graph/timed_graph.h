// Device graphs of traced runs: the device times their work, and each piece of work has its step.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/devices/graph_work.h"
#include "runtime/devices/stream.h"

namespace tern {

/// Lists the work of a graph during its recording. Watches the stream instead of the session's times.
class GraphWorkList : public StreamWatch {
 public:
  explicit GraphWorkList(const SessionContext& session);
  ~GraphWorkList() override;
  GraphWorkList(const GraphWorkList&) = delete;
  GraphWorkList& operator=(const GraphWorkList&) = delete;

  /// Assigns the following work to a step; null: to none. `text` describes the step.
  void enter(std::uint32_t function, const PlanStep* step, const TensorView* args, std::function<std::string()> text);
  void begin(Call call, portable::KernelHandle kernel, std::uint64_t bytes) override;
  void end() noexcept override {}
  /// Entry n - 1 has annotation n.
  const std::vector<GraphWork>& work_list() const { return work_list_; }

 private:
  void add(const GraphWork& work);
  const SessionContext& session_;
  GraphWork step_;
  std::function<std::string()> text_;
  std::vector<GraphWork> work_list_;
};

/// A graph recorded at its first launch. Steps and arguments outlive it.
class TimedGraph {
 public:
  /// Launches the graph in a traced run. `enqueue` enqueues its work for the recording. False: the device cannot record
  /// the work or cannot time it; then nothing has run.
  bool launch(const SessionContext& session, const std::function<void(GraphWorkList&)>& enqueue);

 private:
  bool is_recorded_ = false;
  std::unique_ptr<DeviceGraph> graph_;
  std::vector<GraphWork> work_list_;
};

}  // namespace tern
