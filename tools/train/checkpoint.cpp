#include "tools/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <tern/error.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "tools/files/safetensors.h"
#include "tools/text.h"

namespace tern::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-", kSuffix = ".safetensors";
constexpr std::size_t kKept = 2;
constexpr std::string_view kState = "state.", kSetting = "setting.";
constexpr const char *kLosses = "history.losses", *kEpochs = "history.epochs", *kSums = "history.sums";
constexpr const char* kHash = "hash";
constexpr std::size_t kFigures = 7;  // numbers of an epoch

template <class T>
HostTensor tensor_of(DType dtype, std::vector<std::int64_t> sizes, const std::vector<T>& values) {
  HostTensor t{dtype, std::move(sizes), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
  return t;
}

std::vector<double> doubles(const HostTensor& t) {
  std::vector<double> values(t.data.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), t.data.data(), values.size() * sizeof(double));
  return values;
}

std::vector<double> numbers_of(const EpochFigures& e) {
  return {e.loss,
          e.held_out_loss ? 1.0 : 0.0,
          e.held_out_loss.value_or(0),
          e.held_out_accuracy ? 1.0 : 0.0,
          e.held_out_accuracy.value_or(0),
          e.rate,
          e.seconds};
}

EpochFigures figures_of(const double* n) {
  EpochFigures e{n[0], {}, {}, n[5], n[6]};
  if (n[1] != 0) e.held_out_loss = n[2];
  if (n[3] != 0) e.held_out_accuracy = n[4];
  return e;
}

/// Of all tensors, with their names, and of the metadata without the hash.
std::string hash_of(const NamedTensors& file) {
  std::vector<const std::pair<std::string, HostTensor>*> order;
  for (const auto& t : file.tensors) order.push_back(&t);
  std::ranges::sort(order, {}, [](const auto* t) { return t->first; });
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const auto add = [&](std::string_view text) { XXH3_128bits_update(state, text.data(), text.size()); };
  for (const auto* t : order) {
    add(t->first);
    XXH3_128bits_update(state, t->second.data.data(), t->second.data.size());
  }
  for (const auto& [key, value] : file.metadata) {
    if (key == kHash) continue;
    add(key);
    add(value);
  }
  const XXH128_hash_t h = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

std::uint64_t whole(const NamedTensors& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  std::uint64_t value = 0;
  if (found != file.metadata.end()) {
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  fail(ErrorCode::bad_file, fmt::format("a checkpoint without '{}'", key));
}

/// A run that continues there takes no sample that its data does not have.
void require_within(const History& h, const Extent& extent) {
  const Position& at = h.position;
  if (at.step > extent.steps || at.batch >= extent.batches) {
    fail(ErrorCode::bad_file,
         fmt::format("its position is batch {} of {}, step {} of {}", at.batch, extent.batches, at.step, extent.steps));
  }
  if (at.step != h.losses.size() || at.epoch != h.epochs.size()) {
    fail(ErrorCode::bad_file,
         fmt::format("its history has {} losses and {} epochs, its position is step {} and epoch {}", h.losses.size(),
                     h.epochs.size(), at.step, at.epoch));
  }
}

History history_of(const NamedTensors& file, const Extent& extent) {
  const HostTensor *losses = file.find(kLosses), *epochs = file.find(kEpochs), *sums = file.find(kSums);
  for (const HostTensor* t : {losses, epochs, sums}) {
    if (t == nullptr || t->dtype != DType::f64) fail(ErrorCode::bad_file, "a checkpoint without its history");
  }
  if (sums->data.size() != sizeof(double)) fail(ErrorCode::bad_file, "a checkpoint whose history has no sum");
  History h;
  h.position = {whole(file, "epoch"), whole(file, "batch"), whole(file, "step")};
  h.samples = whole(file, "samples");
  h.losses = doubles(*losses);
  h.loss_sum = doubles(*sums)[0];
  const std::vector<double> numbers = doubles(*epochs);
  for (std::size_t i = 0; i + kFigures <= numbers.size(); i += kFigures) h.epochs.push_back(figures_of(&numbers[i]));
  require_within(h, extent);
  return h;
}

NamedTensors read_checked(const std::string& path) {
  NamedTensors file = read_safetensors(path);
  const auto hash = file.metadata.find(kHash);
  if (hash == file.metadata.end() || hash->second != hash_of(file))
    fail(ErrorCode::bad_file, fmt::format("{}: its bytes are not those that were written", escape_name(path)));
  return file;
}

void require_same(const NamedTensors& file, const Settings& settings, const std::string& path) {
  std::string others;
  for (const auto& [key, value] : settings) {
    const auto found = file.metadata.find(std::string(kSetting) + key);
    const std::string before = found == file.metadata.end() ? "nothing" : found->second;
    if (before != value)
      others += fmt::format("\n  {}: {} there, {} now", key, escape_name(before), escape_name(value));
  }
  if (!others.empty()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--resume: {} is of another run:{}\nGive the same options, or another folder with --checkpoint",
                     escape_name(path), others));
  }
}

/// All at once: a session is not left with some states of a checkpoint.
std::vector<std::pair<std::string, Tensor>> states_of(const NamedTensors& file, const Model& model) {
  std::vector<std::pair<std::string, Tensor>> states;
  for (const StateInfo& s : model.states()) {
    if (!s.is_mutable) continue;
    const HostTensor* t = file.find(std::string(kState) + s.name);
    if (t == nullptr || t->dtype != s.dtype || t->sizes != s.sizes)
      fail(ErrorCode::bad_file, fmt::format("a checkpoint without the state '{}'", s.name));
    states.emplace_back(s.name, Tensor::borrow(static_cast<const void*>(t->data.data()), t->dtype, t->sizes));
  }
  return states;
}

/// A new folder outlives a loss of power once those above it are on the disk. Some file systems cannot do that: then
/// the checkpoint is as safe as they make it.
void make_durable_folder(const std::string& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  const fs::path above = fs::absolute(folder).lexically_normal().parent_path();
  if (above != above.root_path() && !above.empty()) make_durable_folder(above.string());
  fs::create_directory(folder, error);
  if (error) fail(ErrorCode::io, fmt::format("cannot make the folder {}: {}", escape_name(folder), error.message()));
  const int fd = ::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

std::string Checkpoints::path(std::uint64_t step) const {
  return (fs::path(folder_) / fmt::format("{}{:012d}{}", kPrefix, step, kSuffix)).string();
}

std::vector<std::uint64_t> Checkpoints::steps() const {
  std::vector<std::uint64_t> steps;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const std::string_view number =
        std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    std::uint64_t step = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), step);
    if (error == std::errc() && end == number.data() + number.size()) steps.push_back(step);
  }
  std::ranges::sort(steps);
  return steps;
}

/// What a process left that died while it wrote: NAME.tmp.PID. Another process may be writing in the same folder.
void Checkpoints::remove_unfinished() const {
  const std::string mark = std::string(kSuffix) + ".tmp.";
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    const std::size_t at = name.find(mark);
    if (!name.starts_with(kPrefix) || at == std::string::npos) continue;
    pid_t process = 0;
    std::from_chars(name.data() + at + mark.size(), name.data() + name.size(), process);
    const bool writes = process > 0 && process != ::getpid() && (::kill(process, 0) == 0 || errno != ESRCH);
    if (!writes) fs::remove(entry.path(), none);
  }
}

/// Never a later one: it may be another run's, or what a person wants back.
void Checkpoints::remove_before(std::uint64_t step) const {
  std::vector<std::uint64_t> before = steps();
  std::erase_if(before, [&](std::uint64_t s) { return s >= step; });
  std::error_code none;
  for (std::size_t i = 0; i + kKept - 1 < before.size(); ++i) fs::remove(path(before[i]), none);
}

void Checkpoints::remove() const {
  std::error_code none;
  for (std::uint64_t step : steps()) fs::remove(path(step), none);
  remove_unfinished();
  fs::remove(folder_, none);  // refuses a folder that holds something else
}

std::string Checkpoints::save(const Model& model, const Session& session, const History& history,
                              const Settings& settings) const {
  make_durable_folder(folder_);
  NamedTensors file;
  for (const StateInfo& s : model.states()) {
    if (!s.is_mutable) continue;
    const Tensor t = session.read_state(s.name);
    const auto* bytes = static_cast<const std::byte*>(t.data());
    file.tensors.emplace_back(std::string(kState) + s.name,
                              HostTensor{s.dtype, s.sizes, {bytes, bytes + t.byte_size()}});
  }
  std::vector<double> figures;
  for (const EpochFigures& e : history.epochs) {
    const std::vector<double> numbers = numbers_of(e);
    figures.insert(figures.end(), numbers.begin(), numbers.end());
  }
  const auto length = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  file.tensors.emplace_back(kLosses, tensor_of(DType::f64, {length(history.losses.size())}, history.losses));
  file.tensors.emplace_back(kEpochs, tensor_of(DType::f64, {length(history.epochs.size()), length(kFigures)}, figures));
  file.tensors.emplace_back(kSums, tensor_of(DType::f64, {1}, std::vector<double>{history.loss_sum}));
  const RandomPosition random = session.random_position();
  file.metadata = {{"format", "tern checkpoint 1"},
                   {"epoch", fmt::format("{}", history.position.epoch)},
                   {"batch", fmt::format("{}", history.position.batch)},
                   {"step", fmt::format("{}", history.position.step)},
                   {"samples", fmt::format("{}", history.samples)},
                   {"random.seed", fmt::format("{}", random.seed)},
                   {"random.offset", fmt::format("{}", random.offset)}};
  for (const auto& [key, value] : settings) file.metadata.emplace(std::string(kSetting) + key, value);
  file.metadata.emplace(kHash, hash_of(file));
  const std::string to = path(history.position.step);
  write_safetensors(to, file, true);
  remove_before(history.position.step);
  return to;
}

bool Checkpoints::restore(const Model& model, Session& session, History& history, const Settings& settings,
                          const Extent& extent, std::vector<std::string>& warnings) const {
  remove_unfinished();
  std::vector<std::uint64_t> all = steps();
  std::optional<NamedTensors> file;
  std::vector<std::pair<std::string, Tensor>> states;
  RandomPosition random;
  std::string from;
  for (; !all.empty() && !file; all.pop_back()) {
    from = path(all.back());
    try {
      file = read_checked(from);
      history = history_of(*file, extent);
      random = {whole(*file, "random.seed"), whole(*file, "random.offset")};
      states = states_of(*file, model);
    } catch (const Error& e) {
      warnings.push_back(fmt::format("{} cannot be read: {}", escape_name(from), e.what()));
      if (file) require_same(*file, settings, from);
      file.reset();
    }
  }
  if (!file) {
    if (warnings.empty()) return false;
    fail(ErrorCode::bad_file,
         fmt::format("--resume: no checkpoint in {} can be read; the last: {}", escape_name(folder_), warnings.back()));
  }
  require_same(*file, settings, from);
  for (const auto& [name, value] : states) session.write_state(name, value);
  session.set_random_position(random);
  return true;
}

}  // namespace tern::train
