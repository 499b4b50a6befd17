// The page as one file of HTML: its style and its script are embedded in the command, its data are put in.
#pragma once

#include <string>
#include <string_view>

namespace tern::view {

/// `data` is JSON. The page runs its own script and style alone, by a random nonce, and reaches nothing but the address
/// that it came from; as a file, nothing at all.
std::string page_with(std::string_view data);

/// 128 random bits in hexadecimal digits.
std::string random_token();

}  // namespace tern::view
