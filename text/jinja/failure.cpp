#include "text/jinja/failure.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern::jinja {

void fail_rendering(const std::string& message) {
  fail(ErrorCode::invalid_argument, "the chat template: " + message);
}

void check_text_size(std::size_t size) {
  if (size > kMaxOutput) fail_rendering(fmt::format("a text has more than {} bytes", kMaxOutput));
}

}  // namespace tern::jinja
