// Replays recordings.
#pragma once

#include "runtime/context.h"
#include "runtime/graph/recording.h"

namespace tern {

struct Replay {
  SessionContext& captured;  ///< the captured run's context: its scratch memory
  SessionContext& session;   ///< source of random numbers, and profile
  void run(const Recording& recording) const;
  void run(const RecordedItem& item) const;

 private:
  void run_kernel(const RecordedItem& item, const RecordedKernel& kernel) const;
  void run_loop(const RecordedItem& item, const RecordedLoop& loop) const;
  void run_graph(const RecordedGraph& g) const;
};

}  // namespace tern
