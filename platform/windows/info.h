// Facts about an open file.
#pragma once

#include <optional>

#include "platform/file.h"
#include "platform/windows/system.h"

namespace tern::platform {

/// Converts 100 ns since 1601.
FileTime convert_time(LONGLONG time);
std::optional<FileInfo> info_of_handle(HANDLE file);

}  // namespace tern::platform
