// Two methods to answer several prompts at once.
#pragma once

#include <string>
#include <vector>

#include "answer.h"

/// Result of a prompt.
struct Outcome {
  std::string problem;      ///< empty on success
  std::vector<Time> times;  ///< a time for each repetition
};

/// A session for each prompt, on as many threads as cores.
std::vector<Outcome> answer_in_sessions(const tern::Model& model, const ModelFacts& facts, const Tokenizer& tokenizer,
                                        const Options& options);

/// A single session advancing all texts: a waiting prompt takes the next free slot. Shows the total speed with
/// options.show_time.
std::vector<Outcome> answer_in_slots(const tern::Model& model, const ModelFacts& facts, const Tokenizer& tokenizer,
                                     const Options& options);
