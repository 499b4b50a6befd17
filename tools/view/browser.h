// Opens an address in the user's browser.
#pragma once

#include <string>

namespace tern::view {

/// Opens the browser. Other users can see a command's arguments, so the browser gets a private file redirecting to the
/// address.
class Browser {
 public:
  Browser() = default;
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  ~Browser() { forget(); }

  /// Starts the browser of a graphical session, out of reach of Ctrl-C. Returns true if started; the program may fail
  /// later.
  bool open(const std::string& address);
  /// Removes the file.
  void forget();

 private:
  std::string write_file(const std::string& address);

  std::string folder_;  ///< readable only by the user; empty if there is none
};

}  // namespace tern::view
