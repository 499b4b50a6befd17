#include "tools/view/figures.h"

#include <algorithm>
#include <chrono>

#include "tools/calls.h"
#include "tools/inputs.h"
#include "tools/inspect/cost.h"
#include "tools/sizes.h"

namespace tern::view {

RunFigures measured_run(const Model& model, const std::string& function, const std::vector<std::string>& sizes) {
  constexpr int kWarmUp = 2, kLeast = 3, kMost = 20;
  constexpr std::chrono::milliseconds kEnough(500);
  const std::vector<FunctionInfo> functions = model.functions();
  const std::string name = choose_function(functions, function).name;
  InputChoice choice;
  choice.random = true;
  const Program& program = *model.program();
  const Function& f = program.functions[static_cast<std::size_t>(program.find_entry(name))];
  const std::vector<std::string> own = size_names(program, f);
  const auto values = typical_sizes(program, last_sizes(parse_sizes(sizes, program, size_names(program))));
  for (const std::string& size : own) choice.size_texts.push_back(size + "=" + std::to_string(values.at(size)));
  const std::vector<Tensor> inputs = one_call(model, name, choice);
  Session session(model.prepare());
  for (int i = 0; i < kWarmUp; ++i) session.run(name, inputs);
  session.set_profiling(true);
  RunFigures r;
  const auto begin = std::chrono::steady_clock::now();
  do {
    session.run(name, inputs);
  } while (++r.run_count < kLeast || (r.run_count < kMost && std::chrono::steady_clock::now() - begin < kEnough));
  r.nodes = session.profile();
  r.source = std::to_string(r.run_count) + (r.run_count == 1 ? " run" : " runs") + " with generated inputs";
  return r;
}

nlohmann::json to_json(const RunFigures& run) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodeTime& n : run.nodes) {
    nodes.push_back({{"function", n.function},
                     {"node", n.node},
                     {"op", n.op},
                     {"seconds", n.seconds},
                     {"runs", n.runs},
                     {"flops", n.flops},
                     {"bytes", n.bytes},
                     {"members", n.members}});
  }
  return {{"source", run.source}, {"runs", run.run_count}, {"nodes", std::move(nodes)}};
}

}  // namespace tern::view
