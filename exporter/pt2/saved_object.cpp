#include "exporter/pt2/saved_object.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/pt2/text.h"
#include "exporter/pt2/zip_directory.h"
#include "exporter/pt2/zip_library.h"

namespace tern::pt2 {

SavedObject read_saved_object(std::span<const std::byte> bytes, std::uint64_t offset, const std::string& label) {
  ZipDirectory directory = read_zip_directory(bytes, label);
  check_local_headers(bytes, directory, label);
  compare_with_libzip(bytes, directory, label);
  if (directory.records.empty())
    fail(ErrorCode::bad_file, fmt::format("{}: the archive that torch.save wrote is empty", label));
  const std::string& first = directory.records[0].name;
  const std::string root = first.substr(0, first.find('/') + 1);  // "archive/"
  SavedObject object;
  bool has_pickle = false;
  for (const ZipRecord& record : directory.records) {
    const auto data = bytes.subspan(record.data_offset, record.size);
    if (!record.name.starts_with(root) || root.empty())
      fail(ErrorCode::bad_file,
           fmt::format("{}: entry {} is not under the folder {}", label, quote(record.name), quote(root)));
    const std::string_view name = std::string_view(record.name).substr(root.size());
    constexpr std::string_view kStorages = "data/";
    if (name == "data.pkl") {
      object.pickle = {data, offset + record.data_offset};
      has_pickle = true;
    } else if (name.starts_with(kStorages) && name.size() > kStorages.size()) {
      object.storages.add(std::string(name.substr(kStorages.size())), {data, offset + record.data_offset});
    } else if (name == "byteorder" &&
               std::string_view(reinterpret_cast<const char*>(data.data()), data.size()) != "little") {
      fail(ErrorCode::unsupported,
           fmt::format("{}: saved on a big-endian machine; save the program on a little-endian one", label));
    }
  }
  object.storages.seal();  // check_local_headers refuses equal names
  if (!has_pickle) fail(ErrorCode::bad_file, fmt::format("{}: entry {}data.pkl is missing", label, root));
  return object;
}

}  // namespace tern::pt2
