// The footer of a command's --help, in the parts that a page of documentation lays out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct FooterPart {
  enum class Kind { examples, paragraph, verbatim };
  Kind kind;
  std::string text;  ///< of `verbatim` lines without their indentation; of the heading "Examples:" empty
};

/// Up to "Exit status:": pages have a table of their own.
std::vector<FooterPart> parts_of_footer(std::string_view footer);

}  // namespace tern
