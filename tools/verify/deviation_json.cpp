#include "tools/verify/deviation_json.h"

#include <nlohmann/json.hpp>

#include "tools/json_text.h"

namespace tern {

using Json = nlohmann::ordered_json;

Json json_of(const Deviation& d) {
  Json j = {{"elements", d.elements},
            {"unequal", d.unequal},
            {"exact", d.exact()},
            {"not_finite", d.not_finite},
            {"cosine", json_number(d.cosine())},
            {"sqnr_db", json_number(d.sqnr())},
            {"largest_error", json_number(d.largest_error)},
            {"relative_error", json_number(d.relative())},
            {"first_answers", nullptr}};
  if (d.rows > 0) j["first_answers"] = {{"same", d.same_rows}, {"of", d.rows}};
  return j;
}

Json json_of(const ResultDeviation& r) {
  Json j = {{"name", r.name}, {"call", r.call}, {"dtype", nullptr}, {"sizes", r.sizes}};
  if (r.dtype != DType::invalid) j["dtype"] = name_of(r.dtype);
  if (!r.mismatch.empty()) {
    j["mismatch"] = r.mismatch;
  } else if (r.dtype != DType::invalid) {
    j.update(json_of(r.deviation));
  }
  return j;
}

}  // namespace tern
