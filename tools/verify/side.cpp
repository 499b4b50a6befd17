#include "tools/verify/side.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/node_precision.h"

namespace tern {
namespace {

bool any_node(const Program& program, bool (*is)(const Node&)) {
  return std::ranges::any_of(program.functions, [is](const Function& f) { return std::ranges::any_of(f.nodes, is); });
}

}  // namespace

Session Side::session(std::shared_ptr<const Program> of) const {
  Session session(Model(finish ? finish(of) : std::move(of)).prepare(options));
  session.set_seed(seed);
  return session;
}

std::shared_ptr<const Program> keeping(const std::shared_ptr<const Program>& program,
                                       const std::vector<std::string>& patterns) {
  if (patterns.empty()) return program;
  auto noted = std::make_shared<Program>(*program);
  note_precision(*noted, Precision::exported, patterns);
  return noted;
}

std::shared_ptr<const Program> keeping_all(const std::shared_ptr<const Program>& program) {
  const bool some = any_node(*program, [](const Node& n) { return has_precision(n.op); });
  return some ? keeping(program, {"*"}) : program;
}

bool has_marks(const Program& program) {
  return any_node(
      program, [](const Node& n) { return noted_precision(n).value_or(Precision::exported) != Precision::exported; });
}

std::vector<Tensor> copies_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> copies;
  copies.reserve(inputs.size());
  for (const Tensor& t : inputs) copies.push_back(t.clone());
  return copies;
}

CallResults run_call(const Side& program_side, Session& session, const std::vector<Tensor>& inputs, bool with_states) {
  const Function& f = program_side.f();
  CallResults results{copies_of(inputs), {}};
  const std::vector<Tensor>& outputs = session.run(f.name, results.inputs);
  std::vector<LeftTensor>& left = results.tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    left.push_back({fmt::format("out{}", i), f.outputs[i].name, outputs[i]});
  for (const WriteBack& w : f.writebacks) {
    if (w.target != WriteBack::Target::input) continue;
    const auto at = std::ranges::count(f.inputs.begin(), f.inputs.begin() + w.index, FunctionInput::Kind::user,
                                       &FunctionInput::kind);
    left.push_back({fmt::format("mut{}", at), f.inputs[w.index].name + " after the call",
                    results.inputs[static_cast<std::size_t>(at)]});
  }
  for (const WriteBack& w : f.writebacks) {
    if (!with_states || w.target != WriteBack::Target::state) continue;
    const std::string& name = program_side.program->states[w.index].name;
    left.push_back({"state " + name, "state " + name, session.read_state(name)});
  }
  return results;
}

}  // namespace tern
