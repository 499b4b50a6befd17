#include "answers.h"

#include <cstdio>

void Answers::add(std::size_t answer, const std::string& text) {
  const std::lock_guard lock(mutex_);
  texts_[answer] += text;
  print_finished();
}

void Answers::finish(std::size_t answer) {
  const std::lock_guard lock(mutex_);
  texts_[answer] += '\n';
  is_finished_[answer] = true;
  print_finished();
}

void Answers::print_finished() {
  while (current_ < texts_.size()) {
    std::fputs(texts_[current_].c_str(), stdout);
    texts_[current_].clear();
    if (!is_finished_[current_]) break;
    ++current_;
  }
  std::fflush(stdout);
}
