// Errors of system calls.
#pragma once

#include <string>

namespace tern::platform {

/// Number of this thread's last failed system call: errno, or GetLastError() on Windows.
int last_error();
/// The system's description of an error number.
std::string error_text(int error);

bool is_missing(int error);        ///< no file or folder has the name
bool is_existing(int error);       ///< a file or folder has the name already
bool is_symbolic_link(int error);  ///< open_file() of a folder found a link

}  // namespace tern::platform
