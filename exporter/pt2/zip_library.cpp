#include "exporter/pt2/zip_library.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <zip.h>

#include <memory>

#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

struct ZipDiscard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

struct ErrorText {
  zip_error_t error;
  ErrorText() { zip_error_init(&error); }
  ~ErrorText() { zip_error_fini(&error); }
};

}  // namespace

void compare_with_libzip(std::span<const std::byte> file, const ZipDirectory& directory, const std::string& label) {
  ErrorText text;
  zip_source_t* source = zip_source_buffer_create(file.data(), file.size(), /*freep=*/0, &text.error);
  if (!source) fail(ErrorCode::out_of_memory, fmt::format("{}: {}", label, zip_error_strerror(&text.error)));
  const std::unique_ptr<zip_t, ZipDiscard> archive(
      zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &text.error));
  if (!archive) {
    zip_source_free(source);
    fail(ErrorCode::bad_file,
         fmt::format("{}: the zip archive is damaged: {}", label, zip_error_strerror(&text.error)));
  }
  const auto count = static_cast<std::size_t>(zip_get_num_entries(archive.get(), 0));
  if (count != directory.records.size())
    fail(ErrorCode::bad_file,
         fmt::format("{}: {} entries, but libzip finds {}", label, directory.records.size(), count));
  for (std::size_t i = 0; i < count; ++i) {
    const ZipRecord& record = directory.records[i];
    zip_stat_t stat;
    zip_stat_init(&stat);
    const bool is_same = zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &stat) == 0 && record.name == stat.name &&
                         record.size == stat.size && record.compressed_size == stat.comp_size &&
                         record.crc == stat.crc && record.method == stat.comp_method;
    if (!is_same)
      fail(ErrorCode::bad_file, fmt::format("{}: offset {}: entry {}: libzip reads it differently", label,
                                            record.header_offset, quote(record.name)));
  }
}

}  // namespace tern::pt2
