// The page as a single HTML file: style and script are embedded in the command, the data are inserted.
#pragma once

#include <string>
#include <string_view>

namespace tern::view {

/// `data` is JSON. The page runs only its own script and style, by a random nonce, and can reach only its own address;
/// as a file, no address.
std::string page_with(std::string_view data);

/// 128 random bits in hexadecimal digits.
std::string random_token();

}  // namespace tern::view
