// The report of tern verify for scripts.
#include <nlohmann/json.hpp>

#include "schema/op_record.h"
#include "tools/verify/deviation_json.h"
#include "tools/verify/report.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Compared& c) {
  Json j = {{"run", c.run}, {"against", c.against}, {"results", Json::array()}};
  for (const ResultDeviation& r : c.results) j["results"].push_back(json_of(r));
  return j;
}

Json json_of(const NodeDeviation& n, const Program& program, const Function& f) {
  const Node& node = f.nodes[n.number];
  Json j = {{"function", f.name}, {"node", n.number}, {"op", op_name(node.op)}};
  const bool known = node.origin >= 0 && static_cast<std::size_t>(node.origin) < program.origins.size();
  const Origin origin = known ? program.origins[static_cast<std::size_t>(node.origin)] : Origin{};
  j["origin"] = origin.op;
  j["module"] = origin.module;
  j["source"] = origin.source;
  j["own"] = n.isolated ? json_of(*n.isolated) : Json(nullptr);
  j["accumulated"] = n.mismatch.empty() ? json_of(n.accumulated) : Json(nullptr);
  return j;
}

Json limit(const std::optional<double>& l) {
  return l ? Json(*l) : Json(nullptr);
}

}  // namespace

std::string verify_json(const VerifyReport& report) {
  Json document = {{"model", report.model},
                   {"function", report.function},
                   {"calls", report.results.calls},
                   {"compared", Json::array()}};
  for (const Compared& c : report.results.compared) document["compared"].push_back(json_of(c));
  if (report.nodes_asked) {
    document["nodes_compared"] = {
        {"run", report.nodes_run}, {"against", report.nodes_against}, {"own_weights", report.nodes_of_model_alone}};
    document["nodes"] = Json::array();
    for (const NodeDeviation& n : shown_nodes(report))
      document["nodes"].push_back(json_of(n, *report.program, report.program->functions[report.number]));
  }
  document["limits"] = {{"cosine", limit(report.limits.cosine)},
                        {"sqnr_db", limit(report.limits.sqnr)},
                        {"agreement", limit(report.limits.agreement)}};
  document["gains"] = gains_json(report.gains);
  document["failures"] = report.broken;
  document["keep"] = report.advice.patterns;
  document["kept"] = report.advice.patterns.empty() ? Json(nullptr) : json_of(report.advice.comparison);
  // Names come from files: invalid UTF-8 is replaced.
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tern
