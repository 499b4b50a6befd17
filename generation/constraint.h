// The tokens that a request's schema or grammar allows.
#pragma once

#include <tern/text_engine.h>

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "generation/grammar/automaton.h"
#include "generation/grammar/token_table.h"

namespace tern {

/// Position of an answer in its grammar. Answers with the same grammar share the automaton, so one thread alone uses
/// all constraints of an engine.
class Constraint {
 public:
  Constraint(std::shared_ptr<grammar::Automaton> automaton, std::shared_ptr<const grammar::TokenTable> table)
      : automaton_(std::move(automaton)), table_(std::move(table)), state_(automaton_->start()) {}

  /// Tokens that may come next, if the answer has room for this number of tokens (0: no limit). End tokens have no text
  /// and are not among them. Valid until the next call of any constraint.
  const grammar::TokenMask& mask(std::int64_t tokens_left);
  void add(std::int64_t token) { state_ = automaton_->advance(state_, table_->text(token)); }
  /// True if the answer may end.
  bool can_end() const { return automaton_->accepts(state_); }
  /// True if no text can follow.
  bool is_complete() const { return !automaton_->continues(state_); }

 private:
  std::shared_ptr<grammar::Automaton> automaton_;
  std::shared_ptr<const grammar::TokenTable> table_;
  grammar::Automaton::State state_;
};

/// Makes constraints. Keeps the last automata, as most requests repeat a schema. Any thread may call create().
class ConstraintMaker {
 public:
  /// Null for requests without schema and grammar. Throws invalid_argument for a broken one. `tokenizer` may be null.
  std::unique_ptr<Constraint> create(const TextRequest& request, const Tokenizer* tokenizer, std::int64_t vocabulary);

 private:
  struct CachedAutomaton {
    std::string key;
    std::shared_ptr<grammar::Automaton> automaton;
  };
  std::mutex mutex_;
  std::shared_ptr<const grammar::TokenTable> table_;
  std::list<CachedAutomaton> cache_;  ///< the last used first
};

}  // namespace tern
