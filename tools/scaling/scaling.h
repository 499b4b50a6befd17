// tern bench with several numbers of threads, or with cores that the machine lacks: how a program scales, and where the
// threads' time goes.
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
  PrepareOptions options;       ///< but for the number of threads
  std::vector<int> threads;     ///< measured
  std::vector<int> cores;       ///< simulated
  double bytes_per_second = 0;  ///< of the simulated socket
  double seconds = 3;           ///< for all turns
  std::uint64_t turns = 0;      ///< instead of a time; 0: as many as fit
  std::uint64_t seed = 0;
};

struct NodeScaling {
  std::string name, op, from;  ///< "forward:12", "matmul", "aten.linear.default in encoder.fc1"
  ThreadSeconds time;
  std::uint64_t loops = 0, parts = 0;  ///< of a run; parts of the longest loop
};

/// What one number of threads gives.
struct ScalingPoint {
  int threads = 1;
  bool simulated = false;
  std::vector<double> ms;  ///< of runs that nobody recorded, sorted; simulated ones: of all
  std::vector<NodeScaling> nodes;
  ThreadSeconds between;  ///< nodes
  ThreadSeconds all;

  double median() const { return ms.empty() ? 0 : ms[ms.size() / 2]; }
};

struct Scaling {
  std::uint64_t turns = 0;
  bool bfloat16 = false;             ///< products multiply in it
  double barrier = 0;                ///< seconds, measured with two threads
  std::vector<ScalingPoint> points;  ///< the first is one thread
};

/// Every turn runs each number of threads: once to warm up, three times, once recorded.
Scaling measure_scaling(const Model& model, const ScalingRequest& request);

/// What a loop of two empty parts takes, in seconds.
double measure_barrier();

void print_scaling(const ScalingRequest& request, const Scaling& scaling, int nodes);
void print_scaling_json(const ScalingRequest& request, const Scaling& scaling);

}  // namespace tern
