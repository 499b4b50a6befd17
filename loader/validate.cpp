#include "loader/validate.h"

#include <fmt/format.h>

#include "loader/rules.h"
#include "schema/work.h"

namespace tern {

void Checked::state(const char* rule, std::size_t i, std::string message) const {
  findings.add(rule, offsets.state(i), fmt::format("state {} '{}'", i, program.states[i].name), std::move(message));
}

void Checked::function(const char* rule, std::size_t f, std::string message) const {
  findings.add(rule, offsets.function(f), fmt::format("function {} '{}'", f, program.functions[f].name),
               std::move(message));
}

void Checked::input(const char* rule, std::size_t f, std::size_t i, std::string message) const {
  const Function& fn = program.functions[f];
  findings.add(rule, offsets.input(f, i), fmt::format("input {} '{}' of '{}'", i, fn.inputs[i].name, fn.name),
               std::move(message));
}

void Checked::output(const char* rule, std::size_t f, std::size_t i, std::string message) const {
  findings.add(rule, offsets.output(f, i), fmt::format("output {} of '{}'", i, program.functions[f].name),
               std::move(message));
}

void Checked::writeback(const char* rule, std::size_t f, std::size_t i, std::string message) const {
  findings.add(rule, offsets.writeback(f, i), fmt::format("write-back {} of '{}'", i, program.functions[f].name),
               std::move(message));
}

void Checked::node(const char* rule, std::size_t f, std::size_t i, std::string message, ErrorCode code) const {
  findings.add(rule, offsets.node(f, i), describe(program, program.functions[f], i), std::move(message), code);
}

static void check_all(const Checked& c) {
  const std::size_t broken = c.findings.broken();
  check_states(c);
  check_functions(c);
  if (c.findings.broken() > broken) return;
  check_calls(c);
  if (c.findings.broken() > broken) return;
  check_symbols(c);
  check_types(c);
}

void validate(const Program& program, Findings& findings, const ProgramOffsets& offsets, std::uint64_t work) {
  const WorkBudget budget(work);
  try {
    try {
      check_all({program, findings, offsets});
    } catch (const WorkExceeded& e) {
      findings.add("index.work", 0, "program", e.what());
    }
  } catch (const Findings::Full&) {  // enough was found
  }
}

}  // namespace tern
