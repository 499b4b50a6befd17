// The footer of a command's --help, in parts for the layout of documentation pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct FooterPart {
  enum class Kind { examples, paragraph, verbatim };
  Kind kind;
  std::string text;  ///< `verbatim` lines without their indentation; empty for the heading "Examples:"
};

/// Excludes "Exit status:": pages have their own table.
std::vector<FooterPart> parts_of_footer(std::string_view footer);

}  // namespace tern
