// The two ways in which the program answers several prompts at once.
#pragma once

#include <string>
#include <vector>

#include "answer.h"

/// Of one prompt.
struct Outcome {
  std::string problem;      ///< empty if there was none
  std::vector<Time> times;  ///< of each time that the answer was made
};

/// A session for each prompt, on as many threads as there are cores.
std::vector<Outcome> answer_in_sessions(const tern::Model& model, const ModelFacts& facts, const Tokenizer& tokenizer,
                                        const Options& options);

/// One session whose runs advance all texts: a prompt that waits takes the next slot that is free. Shows how fast all
/// of them were with options.show_time.
std::vector<Outcome> answer_in_slots(const tern::Model& model, const ModelFacts& facts, const Tokenizer& tokenizer,
                                     const Options& options);
