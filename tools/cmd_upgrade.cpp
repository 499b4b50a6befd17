// tern upgrade: writes an archive anew in this version's format.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "exporter/archive_writer.h"
#include "exporter/file_kind.h"
#include "loader/archive.h"
#include "loader/format.h"
#include "loader/read_archive.h"
#include "tools/command.h"
#include "tools/json_text.h"
#include "tools/output.h"
#include "tools/same_file.h"
#include "tools/terminal.h"

namespace tern {
namespace {

struct UpgradeArguments {
  std::string input, output;
  bool json = false;
};

/// Version and compression of an archive.
struct ArchiveForm {
  std::string version;
  bool compressed = false;  ///< the weights; attached files always are
};

ArchiveForm form_of(const std::string& path) {
  Findings findings(Findings::Mode::throw_first);
  const ReadArchive archive = read_archive(FileBytes::open(path, Access::map), findings);
  ArchiveForm form;
  form.version = fmt::format("{}.{}", archive.prologue.major, archive.prologue.minor);
  form.compressed = std::ranges::any_of(archive.program->states, [&](const State& s) {
    const std::int32_t segment = archive.segment_of[s.storage];
    return segment >= 0 && archive.segments[static_cast<std::size_t>(segment)].compressed;
  });
  return form;
}

/// Fails for a file of another known kind.
void check_archive_file(const std::string& path) {
  const FileKind kind = kind_of_file(path);
  if (kind.name.empty() || kind.format == "tern") return;
  fail(ErrorCode::invalid_argument,
       fmt::format("{}: {}; upgrade takes .tern archives", escape_name(path), kind.text()));
}

int run_upgrade(const UpgradeArguments& a) {
  check_archive_file(a.input);
  refuse_to_replace("--output", a.output, {a.input});
  const ArchiveForm old_form = form_of(a.input);
  const std::shared_ptr<const Program> program = open_archive(a.input, {Access::map, Verify::now});
  WriteOptions options;
  if (old_form.compressed) options.codec = WriteOptions::Codec::zstd;
  std::optional<Progress> progress;
  options.on_progress = [&](std::uint64_t completed_bytes, std::uint64_t total) {
    if (!progress) progress.emplace("writing", total);
    progress->set(completed_bytes);
  };
  const WriteReport written = write_archive(*program, a.output, options);
  progress.reset();
  const std::string version = fmt::format("{}.{}", kMajorVersion, kMinorVersion);
  if (a.json) {
    print_output(json_text(nlohmann::ordered_json{{"output", a.output},
                                                  {"from_version", old_form.version},
                                                  {"version", version},
                                                  {"bytes", written.file_size}}) +
                 "\n");
  } else {
    print_output(fmt::format("{}: format {} (before: {}), {}\n", escape_name(a.output), version, old_form.version,
                             human_bytes(written.file_size)));
  }
  return 0;
}

}  // namespace

void add_upgrade_command(Command app, CommandLine& line) {
  auto a = std::make_shared<UpgradeArguments>();
  const Command c = app.add_subcommand("upgrade", "Write an archive anew in this version's format");
  c.add_option("input", a->input, "The .tern archive to read, of any version that 'tern run' takes").required();
  c.add_option("-o,--output", a->output, "The archive to write; it is not the input").required().type_name("FILE");
  c.add_flag("--json", a->json, "Print the versions and the size as JSON");
  c.footer(
      "Example:\n  tern upgrade old.tern -o new.tern\n\n"
      "The new archive has the same functions, weights, kernels, tunings, files and metadata, and gives the same bits. "
      "Nodes of former ops become nodes of the ops that replaced them. Compressed weights stay compressed. Every hash "
      "of the old archive is checked first; it is never changed.");
  c.callback([a, &line] { line.status = run_upgrade(*a); });
}

}  // namespace tern
