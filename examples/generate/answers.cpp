#include "answers.h"

#include <cstdio>

void Answers::add(std::size_t answer, const std::string& text) {
  const std::lock_guard lock(mutex_);
  texts_[answer] += text;
  show();
}

void Answers::finish(std::size_t answer) {
  const std::lock_guard lock(mutex_);
  texts_[answer] += '\n';
  done_[answer] = true;
  show();
}

void Answers::show() {
  while (current_ < texts_.size()) {
    std::fputs(texts_[current_].c_str(), stdout);
    texts_[current_].clear();
    if (!done_[current_]) break;
    ++current_;
  }
  std::fflush(stdout);
}
