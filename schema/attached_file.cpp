#include "schema/attached_file.h"

#include <algorithm>

namespace tern {

bool is_file_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMaxFileName && name[0] != '.' && std::ranges::all_of(name, allowed);
}

bool is_text_file(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".jinja") || name.ends_with(".txt");
}

const AttachedFile* find_file(const Program& program, std::string_view name) {
  const auto found = std::ranges::find(program.files, name, &AttachedFile::name);
  return found == program.files.end() ? nullptr : &*found;
}

}  // namespace tern
