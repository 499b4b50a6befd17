// The command line of the example.
#pragma once

#include <string>
#include <vector>

#include "conversation.h"

struct Options {
  std::string archive, tokenizer;  ///< `tokenizer`: a file, "bytes" or "ids"
  std::string device = "cpu";      ///< or one that 'tern devices' lists
  std::vector<std::string> prompts;
  std::int64_t max_tokens = 100;
  Sampling sampling;
  std::int64_t repeat = 1;  ///< times that each answer is made
  int threads = 0;          ///< of each run; 0: the cores divided by the sessions
  bool bos = true, show_time = false;
};

/// Prints help or what is wrong, and leaves, where the options are not complete.
Options parse_options(int argc, char** argv);
