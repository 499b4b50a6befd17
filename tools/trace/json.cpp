#include <nlohmann/json.hpp>

#include "tools/text.h"
#include "tools/trace/summary.h"

namespace tern {
namespace {

nlohmann::json list(const std::vector<TraceSum>& sums) {
  nlohmann::json list = nlohmann::json::array();
  for (const TraceSum& s : sums) {
    list.push_back({{"name", s.name},
                    {"count", s.count},
                    {"host_us", s.host},
                    {"device_us", s.device},
                    {"flops", s.flops},
                    {"bytes", s.bytes}});
  }
  return list;
}

}  // namespace

std::string trace_json(const TraceSummary& s) {
  nlohmann::json busy = nlohmann::json::array();
  for (const TraceBusy& b : s.busy)
    busy.push_back({{"where", b.resource},
                    {"span_us", b.span},
                    {"compute_us", b.compute},
                    {"other_us", b.copy},
                    {"idle_us", b.idle}});
  const nlohmann::json document = {
      {"trace", s.path},
      {"events", s.events},
      {"skipped", s.skipped},
      {"dropped", s.dropped},
      {"unfinished", s.unfinished},
      {"rank", s.rank},
      {"world_size", s.world_size},
      {"span_us", s.span},
      {"runs", s.runs},
      {"run_mean_us", s.run_mean},
      {"ops", s.ops},
      {"kernels", s.kernels},
      {"copies", s.copies},
      {"copied_bytes", s.copied_bytes},
      {"busy", busy},
      {"by_op", list(s.ops_by_time)},
      {"by_kernel", list(s.kernels_by_time)},
      {"by_module", list(s.modules)},
      {"by_annotation", list(s.annotations)},
      {"overhead", list(s.overheads)},
      {"critical_path", {{"length_us", s.path_length}, {"by_name", list(s.path_by_time)}}}};
  // A name of a file may be invalid UTF-8.
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace tern
