// The report of quantizing for scripts.
#include <nlohmann/json.hpp>

#include "tools/json_text.h"
#include "tools/quantize/report.h"
#include "tools/verify/deviation_json.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const QuantizedWeight& w) {
  return {{"weight", w.name},
          {"module", w.module},
          {"format", w.format},
          {"block", w.recipe.block},
          {"rows", w.rows},
          {"columns", w.columns},
          {"sqnr_db", json_number(w.sqnr)},
          {"cosine", json_number(w.cosine)},
          {"bytes_before", w.bytes_before},
          {"bytes", w.bytes_after}};
}

Json json_of(const std::optional<Deviation>& d) {
  return d ? json_of(*d) : Json(nullptr);
}

Json json_of(const LayerError& l) {
  return {{"layer", l.name},    {"function", l.function},     {"node", l.node.node},
          {"op", l.op},         {"source", l.source},         {"weight", l.weight},
          {"format", l.format}, {"own", json_of(l.isolated)}, {"accumulated", json_of(l.accumulated)}};
}

Json json_of(const SqnrTarget& t) {
  return {{"sqnr_db", t.requested},
          {"reached_db", json_number(t.reached)},
          {"formats", t.formats},
          {"programs_run", t.trials}};
}

Json json_of(const BitBudget& b) {
  return {{"bits", b.requested}, {"reached", b.reached}, {"formats", b.formats}};
}

Json json_of(const Calibration& c) {
  Json j = {{"function", c.function}, {"samples", c.samples}, {"results", Json::array()}, {"layers", Json::array()}};
  for (const ResultDeviation& r : c.results) {
    Json result = json_of(r);
    result.erase("call");  // all samples count as one
    j["results"].push_back(std::move(result));
  }
  for (const LayerError& l : c.layers) j["layers"].push_back(json_of(l));
  j["target"] = c.target ? json_of(*c.target) : Json(nullptr);
  j["budget"] = c.budget ? json_of(*c.budget) : Json(nullptr);
  return j;
}

}  // namespace

Json quantize_json(const QuantizeReport& r, const Calibration* calibration) {
  Json j = {{"bytes_before", r.bytes_before()},
            {"bytes", r.bytes_after()},
            {"weights", Json::array()},
            {"kept", Json::array()}};
  for (const QuantizedWeight& w : r.weights) j["weights"].push_back(json_of(w));
  for (const UnquantizedWeight& k : r.unquantized)
    j["kept"].push_back({{"weight", k.name}, {"reason", k.reason}, {"bytes", k.bytes}});
  if (calibration != nullptr) j["calibration"] = json_of(*calibration);
  return j;
}

}  // namespace tern
