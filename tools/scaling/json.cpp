// The figures of tern bench --threads 1,2,4 and --cores 8,32 for programs.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/scaling/scaling.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ThreadSeconds& t, int threads) {
  const auto ms = [](double seconds) { return seconds * 1e3; };
  return {{"ms", ms(t.wall)},
          {"thread_ms", ms(threads * t.wall)},
          {"useful", ms(t.useful)},
          {"more_work", ms(t.slowdown)},
          {"starting", ms(t.starting)},
          {"waiting", ms(t.waiting)},
          {"idle_serial", ms(t.serial)},
          {"idle_few_parts", ms(t.unassigned)},
          {"openmp", ms(t.openmp)}};
}

Json json_of(const NodeScaling& n, int threads) {
  Json j = {{"node", n.name}, {"op", n.op}, {"from", n.origin}, {"loops", n.loops}, {"parts", n.max_loop_parts}};
  j.update(json_of(n.time, threads));
  return j;
}

}  // namespace

void print_scaling_json(const ScalingRequest& request, const ScalingMeasurement& scaling) {
  Json document = {{"model", request.model},
                   {"function", request.function},
                   {"precision", scaling.bfloat16 ? "bfloat16" : "exported"},
                   {"turns", scaling.turn_count},
                   {"barrier_us", scaling.barrier * 1e6},
                   {"bytes_per_second", request.bytes_per_second},
                   {"points", Json::array()}};
  for (const ScalingPoint& p : scaling.points) {
    Json point = {{"threads", p.threads},
                  {"simulated", p.simulated},
                  {"runs", p.ms.size()},
                  {"median_ms", p.median()},
                  {"min_ms", p.ms.empty() ? 0 : p.ms.front()},
                  {"scaling", p.median() > 0 ? scaling.points.front().median() / p.median() : 0},
                  {"all", json_of(p.total, p.threads)},
                  {"between_nodes", json_of(p.between_nodes, p.threads)},
                  {"nodes", Json::array()}};
    for (const NodeScaling& n : p.nodes) point["nodes"].push_back(json_of(n, p.threads));
    document["points"].push_back(std::move(point));
  }
  // Names come from files: invalid UTF-8 is replaced.
  std::puts(document.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace tern
