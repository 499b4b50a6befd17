// Shows the answers to several prompts in order and as they grow, while all are generated at once.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

/// Any thread may call the member functions.
class Answers {
 public:
  explicit Answers(std::size_t count) : texts_(count), is_finished_(count, false) {}
  /// Shows the text, or keeps it until the earlier answers are complete.
  void add(std::size_t answer, const std::string& text);
  void finish(std::size_t answer);

 private:
  void print_finished();

  std::mutex mutex_;
  std::vector<std::string> texts_;  ///< text not yet shown
  std::vector<bool> is_finished_;
  std::size_t current_ = 0;
};
