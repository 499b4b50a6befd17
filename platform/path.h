// Paths: UTF-8 in strings on all systems.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tern::platform {

/// Converts UTF-8. Windows: paths longer than 259 characters work.
std::filesystem::path path_of(std::string_view text);
/// Converts to UTF-8, with the system's separators.
std::string text_of(const std::filesystem::path& path);

/// True if the path names a folder: "models/a.so", not "a.so".
bool has_folder(std::string_view path);
/// Absolute path of a file, with links resolved. Empty if there is no such file.
std::string resolved_path(const std::string& path);
/// Splits a list of paths, PATH for example, at ':' (';' on Windows). Leaves out empty paths.
std::vector<std::string> split_paths(std::string_view list);

}  // namespace tern::platform
