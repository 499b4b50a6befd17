#include "tools/pages/footer.h"

#include <algorithm>

namespace tern {

std::vector<FooterPart> parts_of_footer(std::string_view footer) {
  using Kind = FooterPart::Kind;
  std::vector<FooterPart> footer_parts;
  bool verbatim = false;
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    const bool indented = line.starts_with("  ");
    if (indented && verbatim) {
      footer_parts.back().text += "\n" + std::string(line.substr(2));
    } else if (indented) {
      footer_parts.push_back({Kind::verbatim, std::string(line.substr(2))});
    } else if (line == "Example:" || line == "Examples:") {
      footer_parts.push_back({Kind::examples, {}});
    } else if (line == "Exit status:") {
      break;
    } else if (!line.empty()) {
      footer_parts.push_back({Kind::paragraph, std::string(line)});
    }
    verbatim = indented;
  }
  return footer_parts;
}

}  // namespace tern
