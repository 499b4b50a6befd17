// tern bench with several numbers of threads, or with cores missing in the machine: scaling of a program, and the
// breakdown of the threads' time.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/scaling/account.h"

namespace tern {

struct ScalingRequest {
  std::string model, function;
  std::vector<Tensor> inputs;
  PrepareOptions options;        ///< excluding the number of threads
  std::vector<int> threads;      ///< measured
  std::vector<int> cores;        ///< simulated
  double bytes_per_second = 0;   ///< memory bandwidth of the simulated socket
  double seconds = 3;            ///< duration of all turns
  std::uint64_t turn_count = 0;  ///< instead of a time; 0: as many as fit
  std::uint64_t seed = 0;
};

struct NodeScaling {
  std::string name, op, origin;  ///< "forward:12", "matmul", "aten.linear.default in encoder.fc1"
  ThreadSeconds time;
  std::uint64_t loops = 0, max_loop_parts = 0;  ///< loops of a run; parts of the longest loop
};

/// Result for a number of threads.
struct ScalingPoint {
  int threads = 1;
  bool simulated = false;
  std::vector<double> ms;  ///< sorted times of unrecorded runs; simulated points: of all runs
  std::vector<NodeScaling> nodes;
  ThreadSeconds between_nodes;  ///< nodes
  ThreadSeconds total;

  double median() const { return ms.empty() ? 0 : ms[ms.size() / 2]; }
};

struct ScalingMeasurement {
  std::uint64_t turn_count = 0;
  bool bfloat16 = false;             ///< products multiply in bfloat16
  double barrier = 0;                ///< seconds, measured with two threads
  std::vector<ScalingPoint> points;  ///< the first point has a single thread
};

/// Every turn runs each number of threads: once to warm up, three times, once recorded.
ScalingMeasurement measure_scaling(const Model& model, const ScalingRequest& request);

/// Seconds of a loop with two empty parts.
double measure_barrier();

void print_scaling(const ScalingRequest& request, const ScalingMeasurement& scaling, int nodes);
void print_scaling_json(const ScalingRequest& request, const ScalingMeasurement& scaling);

}  // namespace tern
