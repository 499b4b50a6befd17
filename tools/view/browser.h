// Opens an address in the user's browser.
#pragma once

#include <string>

namespace tern::view {

/// By xdg-open, where there is a graphical session. Says whether it was started; it may fail later.
bool open_browser(const std::string& address);

}  // namespace tern::view
