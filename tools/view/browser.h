// Opens an address in the user's browser.
#pragma once

#include <string>

namespace tern::view {

/// Other users see the words of a command, so the browser gets a file of the user's own that leads to the address.
class Browser {
 public:
  Browser() = default;
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  ~Browser() { forget(); }

  /// By xdg-open, where there is a graphical session; in a session of its own, which Ctrl-C does not reach. Says
  /// whether it was started; it may fail later.
  bool open(const std::string& address);
  /// Removes the file.
  void forget();

 private:
  std::string write_file(const std::string& address);

  std::string folder_;  ///< that only the user can read; empty where there is none
};

}  // namespace tern::view
