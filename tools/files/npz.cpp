#include "tools/files/npz.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "loader/atomic_file.h"
#include "tools/files/byte_source.h"
#include "tools/files/npy.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 29;
constexpr std::uint64_t kBytesPerFileByte = 16;
constexpr std::string_view kNpzSuffix = ".npy";
/// 1980-01-01, the first valid date of a zip archive: (year - 1980) << 9 | month << 5 | day.
constexpr zip_uint16_t kFirstDate = 1 << 5 | 1;

struct ZipDeleter {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, ZipDeleter>;
using Entry = std::unique_ptr<zip_file_t, ZipDeleter>;

std::string text_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

class EntrySource final : public ByteSource {
 public:
  EntrySource(Entry entry, std::uint64_t size, std::string name)
      : ByteSource(std::move(name), size), entry_(std::move(entry)) {}

  /// Reading to the end makes libzip compare the checksum.
  void require_end() {
    std::byte extra{};
    const zip_int64_t n = zip_fread(entry_.get(), &extra, 1);
    if (n < 0) bad();
    if (n > 0) fail(ErrorCode::bad_file, fmt::format("{}: longer than the {} bytes it declares", name(), size()));
  }

 private:
  void read_exactly(std::span<std::byte> destination) override {
    while (!destination.empty()) {
      const zip_int64_t n = zip_fread(entry_.get(), destination.data(), destination.size());
      if (n < 0) bad();
      if (n == 0) fail(ErrorCode::bad_file, fmt::format("{}: shorter than the {} bytes it declares", name(), size()));
      destination = destination.subspan(static_cast<std::size_t>(n));
    }
  }

  [[noreturn]] void bad() { fail(ErrorCode::bad_file, fmt::format("{}: {}", name(), zip_file_strerror(entry_.get()))); }

  Entry entry_;
};

zip_stat_t stat_of(zip_t* archive, zip_uint64_t index, const std::string& file) {
  zip_stat_t stat{};
  constexpr zip_uint64_t kRequiredFields =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive, index, ZIP_FL_ENC_RAW, &stat) != 0 || (stat.valid & kRequiredFields) != kRequiredFields) {
    fail(ErrorCode::bad_file, fmt::format("{}: entry {} of the zip archive cannot be read", file, index));
  }
  return stat;
}

HostTensor read_array(zip_t* archive, zip_uint64_t index, const zip_stat_t& stat, const std::string& entry_name) {
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    fail(ErrorCode::unsupported, fmt::format("{}: compression method {}; only stored and deflated entries are read",
                                             entry_name, stat.comp_method));
  }
  if (stat.encryption_method != ZIP_EM_NONE)
    fail(ErrorCode::unsupported, fmt::format("{}: it is encrypted", entry_name));
  Entry entry(zip_fopen_index(archive, index, 0));
  if (!entry) fail(ErrorCode::bad_file, fmt::format("{}: {}", entry_name, zip_strerror(archive)));
  EntrySource source(std::move(entry), stat.size, entry_name);
  HostTensor tensor = read_npy(source);
  source.require_end();
  return tensor;
}

/// Takes the source over.
NamedTensors read_archive(zip_source_t* source, std::uint64_t file_bytes, const std::string& file) {
  zip_error_t error;
  zip_error_init(&error);
  const Archive archive(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive) {
    zip_source_free(source);
    fail(ErrorCode::bad_file, fmt::format("{}: not a zip archive that can be read: {}", file, text_of(error)));
  }
  if (file_bytes == 0)
    fail(ErrorCode::bad_file, fmt::format("{}: it is empty", file));  // libzip would see an empty
                                                                      // archive
  std::uint64_t budget = kFreeBytes + kBytesPerFileByte * file_bytes;
  NamedTensors result;
  std::set<std::string, std::less<>> names;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const zip_stat_t stat = stat_of(archive.get(), static_cast<zip_uint64_t>(i), file);
    const std::string entry_name = fmt::format("{}: \"{}\"", file, escape_name(stat.name));
    std::string name = stat.name;
    if (!name.ends_with(kNpzSuffix))
      fail(ErrorCode::unsupported, fmt::format("{}: not an array (NAME.npy)", entry_name));
    name.resize(name.size() - kNpzSuffix.size());
    if (!names.insert(name).second) fail(ErrorCode::bad_file, fmt::format("{}: occurs twice", entry_name));
    if (stat.size > budget) {
      fail(ErrorCode::bad_file,
           fmt::format("{}: with it the arrays would need over {}, too much for a file of {}; save it uncompressed",
                       entry_name, human_bytes(kFreeBytes + kBytesPerFileByte * file_bytes), human_bytes(file_bytes)));
    }
    budget -= stat.size;
    HostTensor tensor = read_array(archive.get(), static_cast<zip_uint64_t>(i), stat, entry_name);
    result.tensors.emplace_back(std::move(name), std::move(tensor));
  }
  return result;
}

/// Writes only an end record, because libzip writes no archive without entries.
void write_empty_archive(const std::string& path) {
  AtomicFile file(path);
  file.write(std::string_view("PK\5\6").substr(0, 4));
  file.write(std::string(18, '\0'));
  file.commit();
}

}  // namespace

NamedTensors read_npz(const std::string& path) {
  const std::uint64_t bytes = FileSource(path).size();  // uses the checks and messages of FileSource
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_file_create(path.c_str(), 0, -1, &error);
  if (source == nullptr) fail(ErrorCode::io, fmt::format("cannot open {}: {}", escape_name(path), text_of(error)));
  return read_archive(source, bytes, escape_name(path));
}

NamedTensors read_npz(std::span<const std::byte> bytes, const std::string& name) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr) fail(ErrorCode::out_of_memory, fmt::format("{}: {}", name, text_of(error)));
  return read_archive(source, bytes.size(), name);
}

void write_npz(const std::string& path, const NamedTensors& tensors) {
  std::vector<std::string> headers;  // must live until the archive is closed
  headers.reserve(tensors.tensors.size());
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors.tensors) {
    const std::string entry_name = fmt::format("{}: tensor \"{}\"", path, escape_name(name));
    require_consistent(tensor, entry_name);
    if (!is_utf8(name) || name.find('\0') != std::string::npos || !names.insert(name).second) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: a .npz file cannot store this name, or already has it", entry_name));
    }
    headers.push_back(npy_header(tensor.dtype, tensor.sizes));
  }
  if (tensors.tensors.empty()) return write_empty_archive(path);

  int code = 0;
  // libzip itself writes to a temporary file in the same folder and renames the file.
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    fail(ErrorCode::io, fmt::format("cannot create {}: {}", path, text_of(error)));
  }
  const auto failed = [&]() {
    fail(ErrorCode::io, fmt::format("cannot write {}: {}", path, zip_strerror(archive.get())));
  };
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    const auto& [name, tensor] = tensors.tensors[i];
    // libzip does not write through these pointers.
    const auto fragment = [](const void* data, std::size_t size) {
      return zip_buffer_fragment_t{static_cast<zip_uint8_t*>(const_cast<void*>(data)), size};
    };
    const std::array<zip_buffer_fragment_t, 2> fragments = {fragment(headers[i].data(), headers[i].size()),
                                                            fragment(tensor.data.data(), tensor.data.size())};
    zip_source_t* source = zip_source_buffer_fragment(archive.get(), fragments.data(), tensor.data.empty() ? 1 : 2, 0);
    if (source == nullptr) failed();
    const zip_int64_t index = zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      failed();
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    if (zip_set_file_compression(archive.get(), entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), entry, 0, kFirstDate, 0) != 0) {
      failed();
    }
  }
  if (zip_close(archive.get()) != 0) failed();
  archive.release();  // NOLINT: zip_close has freed it
}

}  // namespace tern
