// Conversion of the system's facts about a file.
#pragma once

#include <sys/stat.h>

#include "platform/file.h"

namespace tern::platform {

FileInfo convert_info(const struct stat& info);

// Names of these members of `stat` differ between systems.
FileTime modified_time(const struct stat& info);
FileTime changed_time(const struct stat& info);

}  // namespace tern::platform
