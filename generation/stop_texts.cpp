#include "generation/stop_texts.h"

#include <algorithm>
#include <utility>

namespace tern {
namespace {

/// Size of the longest end of `text` that is a beginning of `stop`, but not the whole of it.
std::size_t overlap(std::string_view text, std::string_view stop) {
  for (std::size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.ends_with(stop.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

std::string StopTexts::add(std::string_view text) {
  if (found_) return {};
  pending_ += text;
  std::size_t first = std::string::npos, pending = 0;
  for (const std::string& stop : texts_) {
    first = std::min(first, pending_.find(stop));
    pending = std::max(pending, overlap(pending_, stop));
  }
  found_ = first != std::string::npos;
  const std::size_t certain = found_ ? first : pending_.size() - pending;
  std::string result = pending_.substr(0, certain);
  pending_.erase(0, certain);
  return result;
}

std::string StopTexts::finish() {
  return found_ ? std::string() : std::exchange(pending_, {});
}

}  // namespace tern
