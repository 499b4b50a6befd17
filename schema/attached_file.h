// Files that a program carries for applications: names, limits, lookup. tern/text.h lists the files of language models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schema/program.h"

namespace tern {

inline constexpr std::size_t kMaxFiles = 64;
inline constexpr std::size_t kMaxFileName = 255;
inline constexpr std::uint64_t kMaxFileSize = std::uint64_t{256} << 20;

/// True for 1 to 255 letters, digits, '.', '_' and '-', without a leading '.': a name without a folder.
bool is_file_name(std::string_view name);
/// True for names ending in .json, .jinja and .txt: their bytes are UTF-8 without zero bytes.
bool is_text_file(std::string_view name);
/// The file of that name, or null.
const AttachedFile* find_file(const Program& program, std::string_view name);

}  // namespace tern
