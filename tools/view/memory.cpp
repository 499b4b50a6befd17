#include "tools/view/memory.h"

#include "kernels/algorithm.h"
#include "runtime/devices/device.h"
#include "runtime/plan/make.h"
#include "tools/inspect/cost.h"
#include "tools/sizes.h"
#include "tools/view/arena_blocks.h"

namespace tern::view {
namespace {

using nlohmann::json;

class ChosenAlgorithms final : public PlanObserver {
 public:
  void prepared(std::uint32_t function, std::uint32_t number, const Kernel&, const KernelCall&,
                AlgorithmChoice taken) override {
    const std::string_view name = name_of(taken);
    if (!name.empty()) function_choices[function].push_back({number, std::string(name)});
  }
  std::map<std::uint32_t, json> function_choices;
};

json section_json(const PreparedProgram& prepared, const SectionPlan& plan) {
  json section = {{"bytes", plan.arena_bytes},
                  {"scratch", plan.scratch_bytes},
                  {"steps", json::array()},
                  {"blocks", json::array()}};
  for (const PlanStep& s : plan.steps) section["steps"].push_back(s.number);
  for (const ArenaBlock& b : arena_blocks(prepared, plan)) {
    section["blocks"].push_back(
        {{"offset", b.begin}, {"bytes", b.end - b.begin}, {"first", b.first}, {"last", b.last}, {"values", b.values}});
  }
  return section;
}

}  // namespace

json planned_memory(const std::shared_ptr<const Program>& program, const std::map<std::string, std::int64_t>& given) {
  json functions = json::array();
  ChosenAlgorithms algorithms;
  try {
    PreparationSettings settings;
    settings.listeners.observer = &algorithms;
    const auto prepared = prepare_program(program, planning_options(*program), settings);
    const auto stream = prepared->device->open_stream();
    const std::vector<std::int64_t> expressions = evaluate_sizes(*program, typical_sizes(*program, given));
    const std::vector<std::byte*> constants(program->states.size(), nullptr);
    for (std::uint32_t f = 0; f < prepared->functions.size(); ++f) {
      json function = {{"function", f}, {"sections", json::array()}};
      std::shared_ptr<const SectionPlan> last;
      try {
        for (std::uint32_t s = 0; s < prepared->facts[f].sections.size(); ++s) {
          last = make_plan({*prepared, {f, s, {}, Threads::current(), last}, expressions, constants, *stream});
          function["sections"].push_back(section_json(*prepared, *last));
        }
      } catch (const std::exception& e) {
        function["problem"] = e.what();
      }
      const auto own = algorithms.function_choices.find(f);
      function["algorithms"] = own == algorithms.function_choices.end() ? json::array() : own->second;
      functions.push_back(std::move(function));
    }
  } catch (const std::exception& e) {
    functions.push_back(
        {{"function", 0}, {"problem", e.what()}, {"sections", json::array()}, {"algorithms", json::array()}});
  }
  return functions;
}

}  // namespace tern::view
