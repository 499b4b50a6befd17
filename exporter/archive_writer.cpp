#include "exporter/archive_writer.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/archive/index.h"
#include "exporter/archive/segments.h"
#include "exporter/archive/sink.h"
#include "exporter/target_name.h"
#include "loader/atomic_file.h"
#include "loader/prologue.h"
#include "loader/read_archive.h"

namespace tern {
namespace {

WriteReport write(const Program& program, writing::Sink& sink, const WriteOptions& options) {
  if (options.codec == WriteOptions::Codec::zstd && (options.level < 1 || options.level > 22)) {
    fail(ErrorCode::invalid_argument, fmt::format("zstd has levels 1 to 22, not {}", options.level));
  }
  WriteReport report;
  sink.write(PrologueBytes{});  // known at the end
  const writing::WrittenStorages storages = write_storages(program, sink, options);
  const std::vector<std::byte> index = index_bytes(program, storages);
  Prologue prologue;
  prologue.index_offset = align_up(sink.size(), kIndexAlignment);
  prologue.index_size = index.size();
  prologue.hash = index_hash(encode(prologue), index);
  sink.write_zeros(prologue.index_offset - sink.size());
  sink.write(index);
  sink.overwrite(0, encode(prologue));
  report.file_size = sink.size();
  report.index_size = index.size();
  report.segments = storages.segments.size();
  for (const auto& s : storages.storages) report.weights += s.size;
  for (const auto& s : storages.segments) report.stored += s.stored_size;
  return report;
}

/// Refuses to write archives rejected by readers. Reads the index, not the weights.
void check_written(std::shared_ptr<const FileBytes> file) {
  Findings findings(Findings::Mode::throw_first);
  try {
    read_archive(std::move(file), findings);
  } catch (const Error& e) {
    fail(
        ErrorCode::unsupported,
        fmt::format("the program breaks a rule of archives, so nothing was written: {}. Change the model there, or its "
                    "names, and export it again",
                    e.what()));
  }
}

}  // namespace

WriteReport write_archive(const Program& program, const std::string& path, const WriteOptions& options) {
  AtomicFile file(path);
  writing::FileSink sink(file);
  const WriteReport report = write(program, sink, options);
  if (const std::string& written = file.temporary_path(); !written.empty())
    report_target_name(written, path, [&] { check_written(FileBytes::open(written, Access::map)); });
  file.commit();
  return report;
}

std::vector<std::byte> archive_bytes(const Program& program, const WriteOptions& options) {
  writing::MemorySink sink;
  write(program, sink, options);
  return sink.release_bytes();
}

}  // namespace tern
