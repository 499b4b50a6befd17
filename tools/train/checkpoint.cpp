#include "tools/train/checkpoint.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "platform/machine.h"
#include "platform/path.h"
#include "platform/process.h"
#include "tools/files/safetensors.h"
#include "tools/text.h"
#include "tools/train/checkpoint_file.h"
#include "tools/train/folder.h"

namespace tern::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-", kSuffix = ".safetensors";
constexpr std::size_t kRetainedCheckpoints = 2;

std::string name_of(std::uint64_t step) {
  return fmt::format("{}{:012d}{}", kPrefix, step, kSuffix);
}

}  // namespace

std::string Checkpoints::path(std::uint64_t step) const {
  return platform::text_of(platform::path_of(folder_) / name_of(step));
}

std::vector<std::uint64_t> Checkpoints::steps() const {
  std::vector<std::uint64_t> steps;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(platform::path_of(folder_), none)) {
    const std::string name = platform::text_of(entry.path().filename());
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const std::string_view number =
        std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    std::uint64_t step = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), step);
    const bool whole_number = error == std::errc() && end == number.data() + number.size();
    if (whole_number && name == name_of(step)) steps.push_back(step);
  }
  std::ranges::sort(steps);
  return steps;
}

/// Removes unfinished files of dead processes: NAME.tmp.PID. Another process may be writing in the same folder.
void Checkpoints::remove_unfinished() const {
  const std::string mark = std::string(kSuffix) + ".tmp.";
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(platform::path_of(folder_), none)) {
    const std::string name = platform::text_of(entry.path().filename());
    const std::size_t mark_position = name.find(mark);
    if (!name.starts_with(kPrefix) || mark_position == std::string::npos) continue;
    long process = 0;
    std::from_chars(name.data() + mark_position + mark.size(), name.data() + name.size(), process);
    const bool is_being_written = process != platform::process_number() && platform::is_running(process);
    if (!is_being_written) fs::remove(entry.path(), none);
  }
}

/// Keeps later checkpoints: they may belong to another run, or be wanted by the user.
void Checkpoints::remove_before(std::uint64_t step) const {
  std::vector<std::uint64_t> earlier_steps = steps();
  std::erase_if(earlier_steps, [&](std::uint64_t s) { return s >= step; });
  std::error_code none;
  for (std::size_t i = 0; i + kRetainedCheckpoints - 1 < earlier_steps.size(); ++i)
    fs::remove(platform::path_of(path(earlier_steps[i])), none);
}

void Checkpoints::remove() const {
  std::error_code none;
  for (std::uint64_t step : steps()) fs::remove(platform::path_of(path(step)), none);
  remove_unfinished();
  fs::remove(platform::path_of(folder_), none);  // fails for a non-empty folder
}

std::string Checkpoints::save(const Model& model, const Session& session, const History& history,
                              const Settings& settings, const std::vector<std::uint64_t>& offsets,
                              const Patience& patience) const {
  make_durable_folder(folder_);
  const std::string checkpoint_path = path(history.position.step);
  write_safetensors(checkpoint_path, checkpoint_of(model, session, history, settings, offsets, patience), true);
  remove_before(history.position.step);
  return checkpoint_path;
}

std::optional<NamedTensors> Checkpoints::newest(const Model& model, const Settings& settings, const RunLength& extent,
                                                std::vector<std::string>& warnings) const {
  remove_unfinished();
  std::vector<std::uint64_t> all_steps = steps();
  for (; !all_steps.empty(); all_steps.pop_back()) {
    const std::string checkpoint_path = path(all_steps.back());
    std::optional<NamedTensors> file;
    try {
      file = read_checkpoint(checkpoint_path);
      history_of(*file, extent);
      random_offsets_of(*file);
      states_of(*file, model);
    } catch (const Error& e) {
      warnings.push_back(fmt::format("cannot read {}: {}", escape_name(checkpoint_path), e.what()));
      if (file) require_same(*file, settings, checkpoint_path);
      continue;
    }
    require_same(*file, settings, checkpoint_path);
    return file;
  }
  if (warnings.empty()) return {};
  fail(ErrorCode::bad_file,
       fmt::format("--resume: no checkpoint in {} is readable; the last: {}", escape_name(folder_), warnings.back()));
}

}  // namespace tern::train
