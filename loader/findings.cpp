#include "loader/findings.h"

#include <fmt/format.h>

namespace tern {
namespace {

constexpr std::size_t kMaxMessage = 4000;

/// Names come from the file and may be long; a thousand findings must stay small.
void shorten(std::string& text) {
  if (text.size() > kMaxMessage) text = text.substr(0, kMaxMessage) + "...";  // and frees the unused capacity
}

}  // namespace

std::string describe(const Finding& f) {
  return fmt::format("{}{}{} (rule {}, byte {})", f.where, f.where.empty() ? "" : ": ", f.message, f.rule, f.offset);
}

void Findings::add(std::string_view rule, std::uint64_t offset, std::string where, std::string message,
                   ErrorCode code) {
  Finding finding{std::string(rule), code, std::move(message), offset, std::move(where)};
  shorten(finding.message);
  shorten(finding.where);
  if (mode_ == Mode::throw_first) fail(code, describe(finding));
  broken_ += code == ErrorCode::bad_file ? 1 : 0;
  if (list_.size() < kMax) list_.push_back(std::move(finding));
  if (list_.size() == kMax) throw Full{};
}

}  // namespace tern
