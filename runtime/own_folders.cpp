#include "runtime/own_folders.h"

#include <dlfcn.h>

#include <filesystem>

namespace tern {

std::vector<std::string> own_folders(std::string_view name) {
  namespace fs = std::filesystem;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folders), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  fs::path file = fs::canonical(info.dli_fname, failed);
  if (failed) file = fs::canonical("/proc/self/exe", failed);  // a command's name as it was typed
  if (failed) return {};
  const fs::path here = file.parent_path();
  std::vector<std::string> folders;
  for (const fs::path& folder : {here, here / "tern", here.parent_path() / TERN_LIBRARY_FOLDER / "tern"})
    folders.push_back((folder / name).string());
  return folders;
}

}  // namespace tern
