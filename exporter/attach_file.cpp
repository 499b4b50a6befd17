#include "exporter/attach_file.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/constants.h"
#include "loader/utf8.h"
#include "schema/attached_file.h"

namespace tern {

void attach_file(Program& program, const std::string& name, std::vector<std::byte> bytes) {
  if (!is_file_name(name))
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' is not the name of an attached file: use 1 to {} letters, digits, '.', '_' and '-', with "
                     "another first character than '.'",
                     name, kMaxFileName));
  if (bytes.size() > kMaxFileSize)
    fail(ErrorCode::invalid_argument,
         fmt::format("{} has {} bytes; an archive takes files of at most {} bytes", name, bytes.size(), kMaxFileSize));
  if (is_text_file(name) && !is_valid_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    fail(ErrorCode::invalid_argument, fmt::format("{} is not UTF-8, or has a zero byte: save the file as UTF-8", name));
  const std::uint32_t storage = add_storage(program, std::move(bytes));
  const auto found = std::ranges::find(program.files, name, &AttachedFile::name);
  if (found != program.files.end()) {
    found->storage = storage;
  } else if (program.files.size() == kMaxFiles) {
    fail(ErrorCode::invalid_argument, fmt::format("an archive takes at most {} attached files", kMaxFiles));
  } else {
    program.files.push_back({name, storage});
  }
}

}  // namespace tern
