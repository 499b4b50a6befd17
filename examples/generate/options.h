// The command line of the example.
#pragma once

#include <string>
#include <vector>

#include "conversation.h"

struct Options {
  std::string archive, tokenizer;  ///< `tokenizer`: a file, "bytes" or "ids"
  std::string device = "cpu";      ///< or a device listed by 'tern devices'
  std::vector<std::string> prompts;
  std::int64_t max_tokens = 100;
  Sampling sampling;
  std::int64_t repeat = 1;  ///< repetitions of each answer
  int threads = 0;          ///< threads of each run; 0: the cores divided by the sessions
  bool bos = true, show_time = false;
};

/// Prints help or the error, and exits, if the options are incomplete.
Options parse_options(int argc, char** argv);
