// Dynamic libraries: loaded, searched for symbols, located.
#pragma once

#include <string>
#include <string_view>

namespace tern::platform {

/// True shares the library's symbols with libraries loaded later. Windows ignores the choice.
enum class Symbols : bool { local, shared };

/// Loads a library. The system searches a bare name in its own folders; a name with a folder is a path. Null after a
/// failure; `problem`, if given, receives the system's reason.
void* open_library(const std::string& path, std::string* problem = nullptr, Symbols symbols = Symbols::local);
void close_library(void* library);
/// Null if the library does not export the name.
void* find_symbol(void* library, const char* name);
template <typename Function>
Function find_function(void* library, const char* name) {
  return reinterpret_cast<Function>(find_symbol(library, name));
}

/// Name of the file of a library that Tern loads: libNAME.so, or NAME.dll on Windows.
std::string library_file_name(std::string_view name);
/// The same without a prefix: NAME.so or NAME.dll.
std::string module_file_name(std::string_view name);
/// True for file names of libraries that Tern loads on this system.
bool is_library_file_name(std::string_view file_name);

/// The system's library zlib.
const char* zlib_file_name();

/// Absolute path of the program or library that contains this address; empty if unknown.
std::string file_of_code(const void* address);
/// Absolute path of this process's program; empty if unknown.
std::string program_file();
/// Path of a library of this process whose file name begins with `prefix`; empty if none is loaded.
std::string loaded_library(std::string_view prefix);

}  // namespace tern::platform
