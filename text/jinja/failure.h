// Errors and limits of rendering.
#pragma once

#include <cstddef>
#include <string>

namespace tern::jinja {

inline constexpr std::size_t kMaxOutput = 1 << 24;   ///< bytes of a prompt, and of each text during rendering
inline constexpr std::size_t kMaxSteps = 5'000'000;  ///< evaluated expressions, statements and elements
inline constexpr int kMaxDepth = 600;                ///< nesting of expressions, statements and calls
inline constexpr std::size_t kMaxTemplate = std::size_t{1} << 20;

/// Throws invalid_argument: the template refuses the messages, or they lack what it reads.
[[noreturn]] void fail_rendering(const std::string& message);
/// Fails if a text would be longer than kMaxOutput.
void check_text_size(std::size_t size);

}  // namespace tern::jinja
