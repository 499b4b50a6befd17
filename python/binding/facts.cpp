#include "python/binding/facts.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <tern/error.h>

#include <algorithm>
#include <utility>

#include "python/binding/runner.h"
#include "schema/op_record.h"
#include "schema/program.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

bool remembers_runs(const Program& program) {
  const auto is_random = [](const Node& n) { return has_trait(n.op, Trait::random); };
  return std::ranges::any_of(program.states, &State::is_mutable) ||
         std::ranges::any_of(program.functions,
                             [&](const Function& f) { return std::ranges::any_of(f.nodes, is_random); });
}

FunctionEntry entry_of(const FunctionInfo& info, const Function& f) {
  FunctionEntry e;
  e.info = std::make_shared<const FunctionInfo>(info);
  nb::list inputs, fixed;
  for (const ValueInfo& v : info.inputs) {
    inputs.append(v.name);
    fixed.append(v.fixed);
    if (v.fixed.empty()) e.inputs.push_back({v.name, v.dtype});
  }
  const nb::tuple both = nb::cast<nb::tuple>(
      nb::module_::import_("tern._pytree")
          .attr("converters")(info.name, f.in_tree, f.out_tree, inputs, fixed, info.outputs.size()));
  e.flatten = both[0];
  e.unflatten = both[1];
  return e;
}

}  // namespace

Facts::Facts(std::string path_, std::shared_ptr<const MemoryFile> file_, Model opened, PrepareOptions options_)
    : path(std::move(path_)), file(std::move(file_)), options(std::move(options_)), model_(std::move(opened)) {
  prepared_ = model_->prepare(options);
  const Program& program = *model_->program();
  for (const FunctionInfo& info : model_->functions())
    entries.push_back(entry_of(info, program.functions[static_cast<std::size_t>(program.find_entry(info.name))]));
  remembers = remembers_runs(program);
}

void Facts::check_open() const {
  if (is_closed()) fail(ErrorCode::invalid_argument, "the model is closed; tern.load() opens it again");
}

const Model& Facts::model() const {
  check_open();
  return *model_;
}

const PreparedModel& Facts::prepared() const {
  check_open();
  return *prepared_;
}

void Facts::add(const std::shared_ptr<OneSession>& session) {
  std::erase_if(sessions_, [](const auto& s) { return s.expired(); });
  sessions_.push_back(session);
}

std::vector<std::shared_ptr<OneSession>> Facts::sessions() const {
  std::vector<std::shared_ptr<OneSession>> all;
  for (const auto& weak : sessions_) {
    if (auto session = weak.lock()) all.push_back(std::move(session));
  }
  return all;
}

void Facts::close() {
  // Clears the members first: threads waiting for these sessions must not find others.
  const std::optional<Model> model = std::exchange(model_, std::nullopt);
  const std::optional<PreparedModel> prepared = std::exchange(prepared_, std::nullopt);
  for (const std::shared_ptr<OneSession>& session : sessions()) session->close();
  file.reset();
}

const FunctionEntry& Facts::entry(std::string_view name) const {
  check_open();
  std::string names;
  for (const FunctionEntry& e : entries) {
    if (e.info->name == name) return e;
    names += (names.empty() ? "" : ", ") + e.info->name;
  }
  fail(ErrorCode::invalid_argument, fmt::format("the program has no function '{}'; it has: {}", name, names));
}

const FunctionEntry& Facts::main() const {
  check_open();
  for (const FunctionEntry& e : entries) {
    if (e.info->name == "forward" || entries.size() == 1) return e;
  }
  fail(ErrorCode::invalid_argument,
       fmt::format("the program has {} functions and none named 'forward'; choose one: model['{}'](...)",
                   entries.size(), entries.empty() ? "" : entries.front().info->name));
}

}  // namespace tern::python
