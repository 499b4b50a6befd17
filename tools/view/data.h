// The page's data as JSON, read by tests/scripts/view.py and page/model.js.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/view/figures.h"
#include "tools/view/viewed.h"

namespace tern::view {

struct Shown {
  std::vector<Viewed> models;                          ///< a model, or two to compare
  std::vector<std::string> sizes;                      ///< NAME=NUMBER
  std::vector<std::optional<RunFigures>> run_figures;  ///< figures of each model's run
};

/// {"models": [{"inspect": as `tern inspect --json`, "memory": memory.h, "run": figures.h or null, "sizes": the plan's
/// values of symbolic sizes and expressions, without data-dependent sizes, "view_ops": names of view ops, "forms": for
/// each function and node the first node of its form}], "served": bool}
std::string data_json(const Shown& shown, bool served);

/// The same with "weights": for each model {state: weight.h}, and "compared": {state: weight.h} of states of the same
/// name. Weights follow in order until `max_bytes` of storages have been read; the page lists the omitted weights.
std::string data_json_with_weights(const Shown& shown, std::uint64_t max_bytes);

}  // namespace tern::view
