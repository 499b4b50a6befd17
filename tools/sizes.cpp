#include "tools/sizes.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "tools/bounds.h"
#include "tools/names.h"
#include "tools/text.h"

namespace tern {
namespace {

/// Marks the symbols read by the expression. Operands precede their readers, so there are no cycles.
void mark_symbols(const Program& p, Dim d, std::vector<bool>& is_visited, std::vector<bool>& symbols) {
  if (d.is_const()) return;
  std::vector<std::uint32_t> open{d.index()};
  while (!open.empty()) {
    const std::uint32_t i = open.back();
    open.pop_back();
    if (is_visited[i]) continue;
    is_visited[i] = true;
    const ExprNode& n = p.pool.nodes()[i];
    if (n.op == ExprOp::symbol) symbols[static_cast<std::size_t>(n.value)] = true;
    const std::uint32_t operands[] = {n.a, n.b, n.c};
    for (int k = 0; k < operand_count(n.op); ++k) open.push_back(operands[k]);
  }
}

std::string number_list(const std::vector<std::string>& names) {
  return names.empty() ? "NAME" : escape_name(names.front());
}

}  // namespace

std::vector<std::string> size_names(const Program& program) {
  std::vector<std::string> names;
  for (const Symbol& s : program.pool.symbols()) names.push_back(s.name);
  return names;
}

std::vector<std::string> size_names(const Program& program, const Function& function) {
  std::vector<bool> is_visited(program.pool.nodes().size()), symbols(program.pool.symbols().size());
  for (const FunctionInput& input : function.inputs) {
    if (input.kind != FunctionInput::Kind::user) continue;
    for (Dim d : function.values[static_cast<std::size_t>(input.value)].type.shape)
      mark_symbols(program, d, is_visited, symbols);
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i]) names.push_back(program.pool.symbols()[i].name);
  }
  return names;
}

GivenSizes parse_sizes(const std::vector<std::string>& texts, const Program& program,
                       const std::vector<std::string>& names) {
  GivenSizes sizes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--size takes NAME=NUMBER, for example {}=4, not '{}'", number_list(names), escape_name(text)));
    }
    const std::string name = text.substr(0, equals);
    if (std::ranges::find(names, name) == names.end()) {
      try {
        fail_unknown_name("symbolic size", name, names);
      } catch (const Error& e) {
        fail(e.code(), fmt::format("--size {}: {}", escape_name(text), e.what()));
      }
    }
    const auto value = static_cast<std::int64_t>(
        parse_whole(fmt::format("--size {}", escape_name(name)), text.substr(equals + 1), bounds::kSize));
    const Symbol& s = *std::ranges::find(program.pool.symbols(), name, &Symbol::name);
    if (value < s.min || value > s.max) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--size {}: the program takes {}", escape_name(text), size_text(s)));
    }
    sizes[name].push_back(value);
  }
  return sizes;
}

std::map<std::string, std::int64_t> last_sizes(const GivenSizes& sizes) {
  std::map<std::string, std::int64_t> values;
  for (const auto& [name, list] : sizes) values[name] = list.back();
  return values;
}

std::vector<std::int64_t> evaluate_sizes(const Program& program, const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::int64_t> symbols, values(program.pool.nodes().size());
  for (const Symbol& s : program.pool.symbols()) {
    const auto found = sizes.find(s.name);
    symbols.push_back(found != sizes.end() ? found->second : kUndefined);
  }
  evaluate(program.pool.nodes(), symbols, values);
  return values;
}

std::string size_text(const Symbol& s) {
  const std::string name = escape_name(s.name);
  return s.max == kNoBound ? fmt::format("{} from {} on", name, s.min)
                           : fmt::format("{} from {} to {}", name, s.min, s.max);
}

}  // namespace tern
