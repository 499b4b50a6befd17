#include "platform/library.h"

#include <vector>

#include "platform/error.h"
#include "platform/path.h"
#include "platform/windows/system.h"

namespace tern::platform {
namespace {

std::string file_of(HMODULE module) {
  constexpr std::size_t kLongest = 32768;
  std::wstring name(MAX_PATH, L'\0');
  while (true) {
    const DWORD size = ::GetModuleFileNameW(module, name.data(), static_cast<DWORD>(name.size()));
    if (size == 0) return {};
    if (size < name.size() || name.size() >= kLongest) {
      name.resize(size);
      return narrow(strip_prefix(name));
    }
    name.resize(name.size() * 2);
  }
}

bool equals_without_case(std::wstring_view a, std::wstring_view b) {
  return ::CompareStringOrdinal(a.data(), static_cast<int>(a.size()), b.data(), static_cast<int>(b.size()), TRUE) ==
         CSTR_EQUAL;
}

}  // namespace

// Libraries beside a library with a path serve it; the working directory and PATH never do.
void* open_library(const std::string& path, std::string* problem, Symbols /*symbols*/) {
  HMODULE library = nullptr;
  DWORD before = 0;
  ::SetThreadErrorMode(SEM_FAILCRITICALERRORS, &before);  // no windows about missing libraries
  if (has_folder(path)) {
    const std::wstring full = std::filesystem::absolute(path_of(path)).make_preferred().native();
    library =
        ::LoadLibraryExW(full.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  } else {
    library = ::LoadLibraryExW(wide(path).c_str(), nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  }
  const int error = last_error();
  ::SetThreadErrorMode(before, nullptr);
  if (library == nullptr && problem != nullptr) {
    *problem =
        path + ": " +
        (error == ERROR_BAD_EXE_FORMAT ? "it is no library for Windows on this architecture" : error_text(error));
  }
  return library;
}

void close_library(void* library) {
  ::FreeLibrary(static_cast<HMODULE>(library));
}

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

std::string library_file_name(std::string_view name) {
  return std::string(name) + ".dll";
}

std::string module_file_name(std::string_view name) {
  return std::string(name) + ".dll";
}

bool is_library_file_name(std::string_view file_name) {
  return file_name.ends_with(".dll") || file_name.ends_with(".DLL");
}

const char* zlib_file_name() {
  return "zlib1.dll";
}

std::string file_of_code(const void* address) {
  HMODULE module = nullptr;
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  return ::GetModuleHandleExW(flags, static_cast<const wchar_t*>(address), &module) != 0 ? file_of(module)
                                                                                         : std::string();
}

std::string program_file() {
  return file_of(nullptr);
}

std::string loaded_library(std::string_view prefix) {
  std::vector<HMODULE> modules(1024);
  DWORD bytes = 0;
  const auto size = static_cast<DWORD>(modules.size() * sizeof(HMODULE));
  if (::K32EnumProcessModules(::GetCurrentProcess(), modules.data(), size, &bytes) == 0) return {};
  modules.resize(std::min<std::size_t>(modules.size(), bytes / sizeof(HMODULE)));
  const std::wstring wanted = wide(prefix);
  for (HMODULE module : modules) {
    const std::string path = file_of(module);
    const std::wstring name = wide(path.substr(path.find_last_of("/\\") + 1));
    if (equals_without_case(name.substr(0, wanted.size()), wanted)) return path;
  }
  return {};
}

}  // namespace tern::platform
