// A second opinion on an archive: libzip's.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "exporter/pt2/zip_directory.h"

namespace tern::pt2 {

/// Opens the archive with libzip, consistency checks on, and compares every entry with `directory`. Agreement of two
/// readers excludes files with different meanings for different readers. Throws Error: bad_file.
void compare_with_libzip(std::span<const std::byte> file, const ZipDirectory& directory, const std::string& label);

}  // namespace tern::pt2
