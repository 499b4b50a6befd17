// A conversation with a model: messages, and the prompt that they make.
#pragma once

#include <tern/text_engine.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

class Conversation {
 public:
  /// `system` may be empty.
  Conversation(const TextEngine& engine, ChatTemplate chat, const std::string& system);

  /// Adds the user's message and returns the prompt. Drops the oldest messages of user and assistant while the prompt
  /// leaves less than a quarter of the context to the answer. Throws invalid_argument, and drops the message, if the
  /// message alone is too long.
  std::vector<std::int64_t> ask(std::string_view message);
  void add_answer(std::string_view text);
  /// Drops all messages but the system's.
  void reset();
  /// Number of messages that ask() dropped for lack of room.
  std::size_t dropped() const { return dropped_; }

 private:
  std::vector<std::int64_t> prompt() const;
  std::size_t first() const { return has_system_ ? 1 : 0; }

  const TextEngine& engine_;
  ChatTemplate chat_;
  bool has_system_;
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
  std::size_t dropped_ = 0;
};

}  // namespace tern
