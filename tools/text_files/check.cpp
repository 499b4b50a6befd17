#include <fmt/format.h>
#include <tern/text.h>

#include "tools/text_files/attach.h"

namespace tern {

std::vector<std::string> check_text_files(std::string_view tokenizer, std::string_view configuration,
                                          std::string_view chat_template) {
  std::vector<std::string> notes;
  const auto attempt = [&](const char* component, auto open) {
    try {
      open();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      notes.push_back(fmt::format("{} cannot run in this version: {}", component, e.what()));
    }
  };
  attempt("the tokenizer", [&] { Tokenizer::from_bytes(tokenizer, configuration); });
  if (!chat_template.empty())
    attempt("the chat template", [&] { ChatTemplate::from_text(chat_template, configuration); });
  return notes;
}

}  // namespace tern
