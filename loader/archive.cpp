#include "loader/archive.h"

#include <tern/error.h>

#include "loader/file_bytes.h"
#include "loader/read_archive.h"
#include "loader/segment_source.h"
#include "loader/validate.h"

namespace tern {
namespace {

void check(const OpenOptions& options) {
  if (options.access > Access::read || options.access < Access::map || options.verify > Verify::now ||
      options.verify < Verify::never)
    fail(ErrorCode::invalid_argument, "OpenOptions: `access` or `verify` has an unknown value`");
}

std::shared_ptr<const Program> open_file(std::shared_ptr<const FileBytes> file, const OpenOptions& options) {
  Findings findings(Findings::Mode::throw_first);
  ReadArchive a = read_archive(std::move(file), findings);
  if (options.verify == Verify::now) check_segments(a, findings);
  std::vector<std::string> names = segment_names(a);
  a.program->source = std::make_shared<SegmentSource>(std::move(a.file), std::move(a.segments), std::move(a.segment_of),
                                                      std::move(names), options.verify);
  return a.program;
}

std::vector<Finding> validate_file(std::shared_ptr<const FileBytes> file) {
  Findings findings(Findings::Mode::collect);
  const ReadArchive a = read_archive(std::move(file), findings);
  try {
    check_segments(a, findings);
  } catch (const Findings::Full&) {  // enough was found
  }
  return findings.list();
}

}  // namespace

std::shared_ptr<const Program> open_archive(const std::string& path, const OpenOptions& options) {
  check(options);
  auto file = FileBytes::open(path, options.access);
  try {
    return open_file(std::move(file), options);
  } catch (const Error& e) {
    fail(e.code(), path + ": " + e.what());
  }
}

std::shared_ptr<const Program> open_archive(std::span<const std::byte> bytes, const OpenOptions& options) {
  check(options);
  return open_file(FileBytes::borrow(bytes), options);
}

std::vector<Finding> validate_archive(const std::string& path) {
  return validate_file(FileBytes::open(path, Access::map));
}

std::vector<Finding> validate_archive(std::span<const std::byte> bytes) {
  return validate_file(FileBytes::borrow(bytes));
}

}  // namespace tern
