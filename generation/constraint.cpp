#include "generation/constraint.h"

#include <tern/error.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "generation/grammar/gbnf.h"
#include "generation/grammar/json_schema.h"

namespace tern {
namespace {

constexpr std::size_t kMaxKept = 16;
constexpr std::size_t kMaxConstraintBytes = std::size_t{1} << 20;

}  // namespace

const grammar::TokenMask& Constraint::mask(std::int64_t tokens_left) {
  const std::uint64_t bytes_left =
      tokens_left == 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(tokens_left - 1);
  return automaton_->mask(state_, *table_, bytes_left);
}

std::unique_ptr<Constraint> ConstraintMaker::create(const TextRequest& request, const Tokenizer* tokenizer,
                                                    std::int64_t vocabulary) {
  if (request.json_schema.empty() && request.grammar.empty()) return {};
  const bool is_schema = !request.json_schema.empty();
  if (is_schema && !request.grammar.empty())
    fail(ErrorCode::invalid_argument, "a request has a JSON schema or a grammar, not both");
  if (tokenizer == nullptr)
    fail(ErrorCode::invalid_argument, "a JSON schema or grammar needs a tokenizer, and the archive has none");
  const std::string& text = is_schema ? request.json_schema : request.grammar;
  if (text.size() > kMaxConstraintBytes)
    fail(ErrorCode::invalid_argument, "the schema or grammar is larger than 1 MiB");
  const std::string key = (is_schema ? "s" : "g") + text;
  const std::lock_guard lock(mutex_);
  if (!table_) table_ = std::make_shared<const grammar::TokenTable>(*tokenizer, vocabulary);
  std::erase_if(cache_, [](const CachedAutomaton& cached) { return cached.automaton->is_large(); });
  const auto found = std::ranges::find(cache_, key, &CachedAutomaton::key);
  if (found != cache_.end()) {
    cache_.splice(cache_.begin(), cache_, found);
  } else {
    auto automaton = std::make_shared<grammar::Automaton>(is_schema ? grammar::json_schema_grammar(text)
                                                                    : grammar::gbnf_grammar(text));
    // The engine's thread does not know the automaton yet.
    const bool has_first_token =
        automaton->mask(automaton->start(), *table_, std::numeric_limits<std::uint64_t>::max()).count > 0;
    if (!has_first_token && !automaton->accepts(automaton->start()))
      fail(ErrorCode::invalid_argument,
           "the model's vocabulary has no token that begins a text of this schema or grammar");
    cache_.push_front({key, std::move(automaton)});
    if (cache_.size() > kMaxKept) cache_.pop_back();
  }
  return std::make_unique<Constraint>(cache_.front().automaton, table_);
}

}  // namespace tern
