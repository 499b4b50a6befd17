// The Windows API, in its UTF-16 form, and conversions of texts.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
// clang-format off
#include <winsock2.h>  // before windows.h; the others behind
#include <windows.h>
#include <aclapi.h>
#include <psapi.h>
#include <sddl.h>
#include <shellapi.h>
#include <ws2tcpip.h>
// clang-format on

#include <string>
#include <string_view>

#include "platform/file.h"

namespace tern::platform {

/// Converts UTF-8; invalid bytes become U+FFFD.
std::wstring wide(std::string_view text);
/// Converts to UTF-8.
std::string narrow(std::wstring_view text);
/// Converts a path for system calls: absolute, with the prefix \\?\ if it is too long for calls without.
std::wstring wide_path(std::string_view path);
/// Removes the prefix \\?\ of a path.
std::wstring strip_prefix(std::wstring path);

inline HANDLE handle_of(const File& file) {
  return reinterpret_cast<HANDLE>(file.handle());
}
/// Opens a file or folder that other processes may read, write, rename and delete at the same time. Folders need
/// FILE_FLAG_BACKUP_SEMANTICS.
File open_shared(const std::wstring& path, DWORD access, DWORD disposition, DWORD flags,
                 DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);

/// Reason why other users than this process's can change the file; empty if they cannot.
std::string sharing_of(HANDLE file);

}  // namespace tern::platform
