#include "exporter/llm/signature.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tern {
namespace {

constexpr const char* kAdvice =
    "export a decoder whose inputs are token ids [1, n], n dynamic, and their position, and whose buffers are a static "
    "key/value cache (docs/generate.md)";

[[noreturn]] void refuse(const std::string& problem) {
  fail(ErrorCode::invalid_argument, fmt::format("--llm: {}; {}", problem, kAdvice));
}

std::string input_text(const Program& program, const Function& f, const FunctionInput& input) {
  return fmt::format("input '{}' ({})", input.name,
                     text_of(f.values[static_cast<std::size_t>(input.value)].type, program.pool));
}

bool is_index(const TensorType& t) {
  return t.dtype == DType::i64 || t.dtype == DType::i32;
}

/// [], [1], [n] or [1, n]. A program reading the first position alone may have a different symbol for n.
bool is_position(const Program& program, const TensorType& t, Dim n) {
  if (!is_index(t) || t.rank() > 2) return false;
  if (t.rank() == 2 && !t.shape[0].is(1)) return false;
  return t.rank() == 0 || t.shape.back().is(1) || t.shape.back() == n || program.pool.symbol_of(t.shape.back()) >= 0;
}

void find_inputs(const Program& program, const Function& f, DecoderSignature& s) {
  std::vector<std::size_t> argument;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].kind == FunctionInput::Kind::user) argument.push_back(i);
  }
  const auto type = [&](std::size_t i) -> const TensorType& {
    return f.values[static_cast<std::size_t>(f.inputs[i].value)].type;
  };
  if (argument.empty() || !is_index(type(argument[0])) || type(argument[0]).rank() != 2)
    refuse(argument.empty()
               ? "the program has no input"
               : input_text(program, f, f.inputs[argument[0]]) + " does not have the shape [1, n] of token ids");
  for (const auto& [i, word, requested] :
       {std::tuple{0, "mask", "token ids"}, {0, "position", "token ids"}, {1, "mask", "the position"}}) {
    const auto index = static_cast<std::size_t>(i);
    if (index < argument.size() && f.inputs[argument[index]].name.find(word) != std::string::npos)
      refuse(fmt::format("{} seems to be a {}; expected {}", input_text(program, f, f.inputs[argument[index]]), word,
                         requested));
  }
  s.tokens = argument[0];
  const Dims& shape = type(s.tokens).shape;
  if (!shape[0].is(1))
    refuse(input_text(program, f, f.inputs[s.tokens]) + " takes several texts; a session generates one");
  s.count = shape[1];
  if (!s.count.is(1) && program.pool.symbol_of(s.count) < 0)
    refuse(input_text(program, f, f.inputs[s.tokens]) + " has no dynamic number of tokens");
  if (argument.size() < 2) refuse("the program does not take the position of its tokens");
  s.position = argument[1];
  const TensorType& position = type(s.position);
  if (!is_position(program, position, s.count))
    refuse(input_text(program, f, f.inputs[s.position]) + " is not a position: int64[1] or int64[n]");
  if (position.rank() > 0 && position.shape.back() != s.count)
    s.position_symbol = program.pool.symbol_of(position.shape.back());
  if (argument.size() > 2)
    refuse(input_text(program, f, f.inputs[argument[2]]) + " is neither the tokens nor their position");
}

void find_logits(const Program& program, const Function& f, DecoderSignature& s) {
  for (const FunctionOutput& o : f.outputs) {
    if (o.kind != FunctionOutput::Kind::tensor || o.value == kNoValue) continue;
    const TensorType& t = f.values[static_cast<std::size_t>(o.value)].type;
    const bool rows = t.rank() == 3 && t.shape[0].is(1);  // rows of all tokens, or of a selection
    const bool row = t.rank() == 2 && t.shape[0].is(1);
    if (!is_floating(t.dtype) || !(rows || row) || !t.shape.back().is_const())
      refuse(fmt::format("the first result, {}, is not the logits [1, n, vocabulary]", text_of(t, program.pool)));
    s.logits = o.value;
    s.vocabulary = t.shape.back().value();
    return;
  }
  refuse("the program has no result");
}

/// Cache length: the last axis but one of the floats written by the function.
std::int64_t cache_slots(const Program& program, const Function& f) {
  std::set<std::int64_t> sizes;
  for (const WriteBack& w : f.writebacks) {
    if (w.target != WriteBack::Target::state) continue;
    const TensorType& t = program.states[w.index].type;
    if (is_floating(t.dtype) && t.rank() >= 3) sizes.insert(t.shape[t.shape.size() - 2].value());
  }
  if (sizes.empty()) refuse("the program updates no buffer, so it has no cache");
  if (sizes.size() == 1) return *sizes.begin();
  std::string text;
  for (const std::int64_t n : sizes) text += fmt::format("{}{}", text.empty() ? "" : ", ", n);
  fail(ErrorCode::invalid_argument, fmt::format("--llm: the buffers that the program updates have {} positions; give "
                                                "--context, the number of positions that fits in all of them",
                                                text));
}

}  // namespace

DecoderSignature decoder_signature(const Program& program, const Function& f, std::int64_t context) {
  DecoderSignature s;
  find_inputs(program, f, s);
  find_logits(program, f, s);
  s.slots = context != 0 ? context : cache_slots(program, f);
  if (s.slots < 2) refuse(fmt::format("the cache of {} positions is too short", s.slots));
  return s;
}

}  // namespace tern
