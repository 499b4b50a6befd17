#include "exporter/pt2/container.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <zlib.h>

#include <algorithm>

#include "exporter/file_kind.h"
#include "exporter/pt2/mapped_file.h"
#include "exporter/pt2/recognise.h"
#include "exporter/pt2/text.h"
#include "exporter/pt2/zip_directory.h"
#include "exporter/pt2/zip_library.h"
#include "threads/parallel.h"

namespace tern::pt2 {

struct Container::State {
  std::unique_ptr<const MappedFile> file;  ///< null for borrowed bytes
  std::span<const std::byte> bytes;
  std::string label;
  std::string root;
  std::vector<ContainerEntry> entries;
  std::vector<std::uint32_t> sorted_entries;
  std::vector<std::string> models;

  void load();
  const ContainerEntry* find(std::string_view name) const;
  void expect(std::string_view name, std::string_view value, const char* advice) const;
};

const ContainerEntry* Container::State::find(std::string_view name) const {
  const auto it = std::lower_bound(sorted_entries.begin(), sorted_entries.end(), name,
                                   [&](std::uint32_t i, std::string_view n) { return entries[i].name < n; });
  return it != sorted_entries.end() && entries[*it].name == name ? &entries[*it] : nullptr;
}

void Container::State::expect(std::string_view name, std::string_view value, const char* advice) const {
  const ContainerEntry* entry = find(fmt::format("{}/{}", root, name));
  if (!entry) fail(ErrorCode::bad_file, fmt::format("{}: entry '{}' is missing; save the program again", label, name));
  const std::string_view got(reinterpret_cast<const char*>(bytes.data() + entry->offset), entry->size);
  if (got != value)
    fail(ErrorCode::unsupported, fmt::format("{}: offset {}: '{}' is {}, not '{}'; {}", label, entry->offset, name,
                                             quote(got.substr(0, 40)), value, advice));
}

void Container::State::load() {
  ZipDirectory directory = read_zip_directory(bytes, label);
  root = recognise_archive(directory.records, label);
  check_local_headers(bytes, directory, label);
  compare_with_libzip(bytes, directory, label);
  entries.reserve(directory.records.size());
  for (auto& record : directory.records)
    entries.push_back({std::move(record.name), record.data_offset, record.size, record.crc});
  for (std::uint32_t i = 0; i < entries.size(); ++i) sorted_entries.push_back(i);
  std::sort(sorted_entries.begin(), sorted_entries.end(),
            [&](auto a, auto b) { return entries[a].name < entries[b].name; });

  expect("archive_format", "pt2", "save the program with torch.export.save of PyTorch 2.9 or newer");
  expect("archive_version", "0", "this version of Tern reads only version 0");
  expect("byteorder", "little", "save the program on a little-endian machine");
  const std::string start = root + "/models/";
  constexpr std::string_view kEnd = ".json";
  for (const auto& entry : entries)
    if (entry.name.starts_with(start) && entry.name.ends_with(kEnd) && entry.name.size() > start.size() + kEnd.size())
      models.push_back(entry.name.substr(start.size(), entry.name.size() - start.size() - kEnd.size()));
  if (models.empty()) fail(ErrorCode::bad_file, fmt::format("{}: models/*.json is missing", label));
}

Container Container::open(const std::string& path) {
  auto state = std::make_shared<State>();
  state->file = MappedFile::open(path);
  state->bytes = state->file->bytes();
  if (const FileKind kind = kind_of(state->bytes); !kind.name.empty() && kind.format != "zip")
    fail(kind.code, fmt::format("{}: {}", path, kind.text()));
  state->label = path;
  state->load();
  return Container(std::move(state));
}

Container Container::borrow(std::span<const std::byte> bytes, std::string label) {
  auto state = std::make_shared<State>();
  state->bytes = bytes;
  state->label = std::move(label);
  state->load();
  return Container(std::move(state));
}

const std::string& Container::label() const {
  return state_->label;
}
std::span<const std::byte> Container::bytes() const {
  return state_->bytes;
}
const std::string& Container::root() const {
  return state_->root;
}
const std::vector<ContainerEntry>& Container::entries() const {
  return state_->entries;
}
const std::vector<std::string>& Container::models() const {
  return state_->models;
}
const ContainerEntry* Container::find(std::string_view name) const {
  return state_->find(name);
}

const ContainerEntry* Container::find_under_root(std::string_view name) const {
  return state_->find(fmt::format("{}/{}", state_->root, name));
}

std::span<const std::byte> Container::data(const ContainerEntry& entry) const {
  return state_->bytes.subspan(entry.offset, entry.size);
}

std::span<const std::byte> Container::data(std::string_view name) const {
  const ContainerEntry* entry = find(name);
  if (!entry) fail(ErrorCode::bad_file, fmt::format("{}: entry {} is missing", label(), quote(name)));
  return data(*entry);
}

void Container::verify_crc(const ContainerEntry& entry) const {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const auto bytes = data(entry);
  std::vector<uLong> piece_crcs(std::max<std::size_t>((bytes.size() + kPiece - 1) / kPiece, 1));
  const auto piece = [&](std::size_t i) {
    return bytes.subspan(i * kPiece, std::min(kPiece, bytes.size() - i * kPiece));
  };
  parallel_for(static_cast<std::int64_t>(piece_crcs.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      piece_crcs[i] = crc32_z(0, reinterpret_cast<const unsigned char*>(piece(i).data()), piece(i).size());
  });
  uLong crc = piece_crcs[0];
  for (std::size_t i = 1; i < piece_crcs.size(); ++i)
    crc = crc32_combine(crc, piece_crcs[i], static_cast<z_off_t>(piece(i).size()));
  if (crc != entry.crc)
    fail(ErrorCode::bad_file,
         fmt::format(
             "{}: offset {}: entry {}: its bytes have CRC {:08x}, not {:08x}: the file is damaged; copy it again",
             label(), entry.offset, quote(entry.name), crc, entry.crc));
}

void Container::verify_all_crcs() const {
  for (const auto& entry : entries()) verify_crc(entry);
}

}  // namespace tern::pt2
