#include "tools/generation/conversation.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "tools/generation/options.h"

namespace tern {

Conversation::Conversation(const TextEngine& engine, ChatTemplate chat, const std::string& system)
    : engine_(engine), chat_(std::move(chat)), has_system_(!system.empty()) {
  if (has_system_) messages_.push_back({{"role", "system"}, {"content", system}});
}

std::vector<std::int64_t> Conversation::prompt() const {
  return encode_chat(engine_, chat_.render(messages_.dump()));
}

std::vector<std::int64_t> Conversation::ask(std::string_view message) {
  messages_.push_back({{"role", "user"}, {"content", message}});
  const std::int64_t max_tokens = engine_.context() - engine_.context() / 4;
  try {
    std::vector<std::int64_t> tokens = prompt();
    // Templates expect pairs of user and assistant.
    while (static_cast<std::int64_t>(tokens.size()) > max_tokens && messages_.size() >= first() + 3) {
      messages_.erase(first());
      messages_.erase(first());
      dropped_ += 2;
      tokens = prompt();
    }
    if (static_cast<std::int64_t>(tokens.size()) > max_tokens) {
      fail(ErrorCode::invalid_argument,
           fmt::format("the message makes a prompt of {} tokens, and the model's context of {} needs room for the "
                       "answer; send a shorter message",
                       tokens.size(), engine_.context()));
    }
    return tokens;
  } catch (...) {
    messages_.erase(messages_.size() - 1);
    throw;
  }
}

void Conversation::add_answer(std::string_view text) {
  messages_.push_back({{"role", "assistant"}, {"content", text}});
}

void Conversation::reset() {
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(first()), messages_.end());
}

}  // namespace tern
