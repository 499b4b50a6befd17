#include "tools/files/streams.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>

#include "platform/console.h"
#include "platform/error.h"
#include "platform/path.h"
#include "tools/files/byte_source.h"
#include "tools/text.h"
#include "user_files/pending_file.h"

namespace tern {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

}  // namespace

std::vector<std::byte> read_all_input() {
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  while (true) {
    if (bytes.size() < size + kPiece) bytes.resize(std::max(2 * bytes.size(), size + kPiece));
    const std::int64_t n = platform::read_input(std::span(bytes).subspan(size, kPiece));
    if (n < 0) fail_with_last_error("read", "standard input");
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

TemporaryFile::TemporaryFile(const std::string& prefix) {
  const std::string folder = platform::text_of(std::filesystem::temp_directory_path());
  path_ = fmt::format("{}/{}-{}", folder, prefix, temporary_name(""));
  if (!platform::create_file(path_, 0600).is_open()) fail_with_last_error("create a temporary file in", folder);
}

TemporaryFile::~TemporaryFile() {
  platform::remove_file(path_);
}

void copy_to_stream(const std::string& file, const std::string& stream) {
  const bool standard = stream == "-";
  const std::string name = standard ? "standard output" : escape_name(stream);
  std::fflush(stdout);
  platform::File target;
  if (!standard) {
    target = platform::open_to_write(stream);
    if (!target.is_open()) fail_with_last_error("open", name);
  }
  FileSource source(file);
  std::vector<std::byte> buffer(kPiece);
  while (source.remaining() > 0) {
    const auto chunk = std::span(buffer).first(std::min<std::uint64_t>(kPiece, source.remaining()));
    source.read(chunk, "the results");
    if (standard ? platform::write_stream(1, chunk) : target.write(chunk)) continue;
    if (platform::is_broken_pipe(platform::last_error()))  // the reader has gone
      throw std::system_error(std::make_error_code(std::errc::broken_pipe));
    fail_with_last_error("write to", name);
  }
  if (!target.close()) fail_with_last_error("write to", name);
}

}  // namespace tern
