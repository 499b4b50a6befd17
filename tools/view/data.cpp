#include "tools/view/data.h"

#include <algorithm>
#include <map>
#include <set>

#include "schema/forms.h"
#include "schema/op_record.h"
#include "tools/inspect/cost.h"
#include "tools/inspect/inspect.h"
#include "tools/sizes.h"
#include "tools/view/memory.h"
#include "tools/view/weight.h"

namespace tern::view {
namespace {

using nlohmann::json;

json memory_of(const Viewed& m, const std::vector<std::string>& sizes) {
  if (m.program == nullptr) return json::array();
  const Program& p = *m.program;
  return planned_memory(m.program, last_sizes(parse_sizes(sizes_for(p, sizes), p, size_names(p))));
}

/// Values of sizes, by their text in `tern inspect`. Data-dependent sizes have no value.
json size_values(const Viewed& m, const std::vector<std::string>& sizes) {
  const Program& p = *m.archive.program;
  const auto all_sizes = typical_sizes(p, last_sizes(parse_sizes(sizes_for(p, sizes), p, size_names(p))));
  std::map<std::string, std::int64_t> known;  // symbols of inputs
  for (const Function& f : p.functions) {
    if (!f.entry) continue;
    for (const std::string& name : size_names(p, f)) known[name] = all_sizes.at(name);
  }
  const std::vector<std::int64_t> values = evaluate_sizes(p, known);
  json document = json::object();
  std::set<std::uint32_t> visited;
  for (const Function& f : p.functions) {
    for (const Value& v : f.values) {
      for (const Dim d : v.type.shape) {
        if (!d.is_const() && values[d.index()] != kUndefined && visited.insert(d.index()).second)
          document[p.pool.text(d)] = values[d.index()];
      }
    }
  }
  return document;
}

/// Names of the program's view ops (ops changing only the addressing of elements).
json view_ops(const Program& p) {
  std::set<std::string> names;
  for (const Function& f : p.functions) {
    for (const Node& n : f.nodes) {
      if (has_trait(n.op, Trait::view)) names.insert(std::string(op_name(n.op)));
    }
  }
  return names;
}

/// Lists the first node of each node's form, by function. Empty for invalid programs.
json forms_of(const Viewed& m) {
  json forms = json::array();
  if (m.program == nullptr) return forms;
  for (const Function& f : m.program->functions) forms.push_back(first_of_form(f));
  return forms;
}

/// Names and messages may contain any bytes: invalid UTF-8 becomes U+FFFD.
std::string dump(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Inserts the text of `tern inspect` and the members in `more` unchanged.
std::string join(const Shown& s, bool served, const std::string& more) {
  std::string text = "{\"models\": [";
  for (std::size_t i = 0; i < s.models.size(); ++i) {
    text += (i > 0 ? ",\n{\"inspect\": " : "{\"inspect\": ") + inspection_json(s.models[i], s.sizes);
    text += ",\n\"memory\": " + dump(memory_of(s.models[i], s.sizes));
    text += ",\n\"sizes\": " + dump(size_values(s.models[i], s.sizes));
    text += ",\n\"view_ops\": " + dump(view_ops(*s.models[i].archive.program));
    text += ",\n\"forms\": " + dump(forms_of(s.models[i]));
    text += ",\n\"run\": " + (s.run_figures[i] ? dump(to_json(*s.run_figures[i])) : "null") + "}";
  }
  return text + "],\n\"served\": " + (served ? "true" : "false") + more + "}";
}

/// Limits the bytes read from storages.
class Budget {
 public:
  explicit Budget(std::uint64_t max_bytes) : remaining_(max_bytes) {}
  bool try_spend(std::uint64_t bytes) {
    if (bytes > remaining_) return false;
    remaining_ -= bytes;
    return true;
  }

 private:
  std::uint64_t remaining_;
};

}  // namespace

std::string data_json(const Shown& shown, bool served) {
  return join(shown, served, "");
}

std::string data_json_with_weights(const Shown& shown, std::uint64_t max_bytes) {
  Budget budget(max_bytes);
  json weights = json::array(), compared = json::object();
  for (const Viewed& m : shown.models) {
    json own = json::object();
    const WeightReads reads = m.program != nullptr ? quantize::weights_of(*m.program) : WeightReads();
    const std::vector<State>& states = m.archive.program->states;
    for (std::uint32_t i = 0; i < states.size() && m.program != nullptr; ++i) {
      if (budget.try_spend(storage_bytes(*m.program, states[i])))
        own[std::to_string(i)] = weight_json(*m.program, i, reads);
    }
    weights.push_back(std::move(own));
  }
  if (shown.models.size() == 2 && shown.models[0].program != nullptr && shown.models[1].program != nullptr) {
    const Program &a = *shown.models[0].program, &b = *shown.models[1].program;
    for (std::uint32_t i = 0; i < a.states.size(); ++i) {
      const auto same = std::ranges::find(b.states, a.states[i].name, &State::name);
      if (same == b.states.end() || !budget.try_spend(storage_bytes(a, a.states[i]) + storage_bytes(b, *same)))
        continue;
      compared[std::to_string(i)] = compared_json(a, i, b, static_cast<std::uint32_t>(same - b.states.begin()));
    }
  }
  return join(shown, false, ",\n\"weights\": " + dump(weights) + ",\n\"compared\": " + dump(compared));
}

}  // namespace tern::view
