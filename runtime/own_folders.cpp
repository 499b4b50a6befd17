#include "runtime/own_folders.h"

#include "platform/library.h"
#include "platform/path.h"

namespace tern {

std::vector<std::string> own_folders(std::string_view name) {
  namespace fs = std::filesystem;
  const std::string file = platform::file_of_code(reinterpret_cast<const void*>(&own_folders));
  if (file.empty()) return {};
  const fs::path here = platform::path_of(file).parent_path(), above = here.parent_path();
  std::vector<std::string> folders;
  for (const fs::path& folder : {here, here / "tern", above / TERN_LIBRARY_FOLDER / "tern"})
    folders.push_back(platform::text_of(folder / name));
  return folders;
}

}  // namespace tern
