// Errors of the translation: each names the line of the PTX.
#pragma once

#include <stdexcept>
#include <string>

namespace tern::emulated {

class TranslationError : public std::runtime_error {
 public:
  TranslationError(int line, const std::string& what)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " + what) {}
};

}  // namespace tern::emulated
