// A JSON schema or a grammar, a zero byte, and a text: reading ends with an automaton or an Error, and a text that a
// schema takes is JSON.
#include <tern/error.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "generation/grammar/automaton.h"
#include "generation/grammar/gbnf.h"
#include "generation/grammar/json_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern::grammar;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const std::string_view rules = all.substr(0, end), text = all.substr(std::min(end + 1, all.size()));
  const bool is_schema = rules.find("::=") == std::string_view::npos;
  try {
    Automaton automaton(is_schema ? json_schema_grammar(rules) : gbnf_grammar(rules));
    const Automaton::State state = automaton.advance(automaton.start(), text);
    const bool is_taken = state != Automaton::kDead && automaton.accepts(state);
    if (is_taken && is_schema && !nlohmann::json::accept(text)) std::abort();
  } catch (const tern::Error&) {
  }
  return 0;
}
