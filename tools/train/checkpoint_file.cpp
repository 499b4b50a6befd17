#include "tools/train/checkpoint_file.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "tools/files/safetensors.h"
#include "tools/text.h"

namespace tern::train {
namespace {

constexpr std::string_view kState = "state.", kSetting = "setting.";
constexpr const char *kLosses = "history.losses", *kEpochs = "history.epochs", *kSums = "history.sums",
                     *kFurther = "history.further_losses", *kNorms = "history.gradient_norms",
                     *kMetrics = "history.metrics";
constexpr const char *kHash = "hash", *kRanks = "setting.ranks";
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
  EpochFigures e;
  e.loss = n[0];
  e.rate = n[5];
  e.seconds = n[6];
  if (n[1] != 0) e.held_out_loss = n[2];
  if (n[3] != 0) e.held_out_accuracy = n[4];
  return e;
}

/// Hash of all tensors, their names, and the other metadata.
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

std::uint64_t metadata_count(const NamedTensors& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  std::uint64_t value = 0;
  if (found != file.metadata.end()) {
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  fail(ErrorCode::bad_file, fmt::format("the checkpoint lacks '{}'", key));
}

/// Checks the position: a continued run must not read samples beyond the data.
void require_within(const History& h, const RunLength& extent) {
  const Position& history_position = h.position;
  if (history_position.step > extent.steps || history_position.batch >= extent.batches) {
    fail(ErrorCode::bad_file, fmt::format("its position is invalid: batch {} of {}, step {} of {}",
                                          history_position.batch, extent.batches, history_position.step, extent.steps));
  }
  if (history_position.step != h.losses.size() || history_position.epoch != h.epochs.size()) {
    fail(ErrorCode::bad_file,
         fmt::format("its history has {} losses and {} epochs, but its position is step {} and epoch {}",
                     h.losses.size(), h.epochs.size(), history_position.step, history_position.epoch));
  }
}

}  // namespace

NamedTensors checkpoint_of(const Model& model, const Session& session, const History& history, const Settings& settings,
                           const std::vector<std::uint64_t>& offsets, const Patience& patience) {
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
  if (!history.gradient_norms.empty()) {
    file.tensors.emplace_back(kNorms,
                              tensor_of(DType::f64, {length(history.gradient_norms.size())}, history.gradient_norms));
  }
  if (!history.epochs.empty() && !history.epochs[0].metrics.empty()) {
    std::vector<double> all_metrics;
    for (const EpochFigures& e : history.epochs)
      all_metrics.insert(all_metrics.end(), e.metrics.begin(), e.metrics.end());
    const std::int64_t metrics = length(history.epochs[0].metrics.size());
    file.tensors.emplace_back(kMetrics, tensor_of(DType::f64, {length(history.epochs.size()), metrics}, all_metrics));
  }
  patience.add_to(file);
  if (!history.further_losses.empty()) {
    std::vector<double> flat_losses;
    for (const std::vector<double>& losses : history.further_losses)
      flat_losses.insert(flat_losses.end(), losses.begin(), losses.end());
    file.tensors.emplace_back(
        kFurther,
        tensor_of(DType::f64, {length(history.further_losses.size()), length(history.losses.size())}, flat_losses));
  }
  file.tensors.emplace_back(kEpochs, tensor_of(DType::f64, {length(history.epochs.size()), length(kFigures)}, figures));
  file.tensors.emplace_back(kSums, tensor_of(DType::f64, {1}, std::vector<double>{history.loss_sum}));
  file.metadata = {{"format", "tern checkpoint 1"},
                   {"epoch", fmt::format("{}", history.position.epoch)},
                   {"batch", fmt::format("{}", history.position.batch)},
                   {"step", fmt::format("{}", history.position.step)},
                   {"samples", fmt::format("{}", history.samples)},
                   {"random.seed", fmt::format("{}", session.random_position().seed)},
                   {"random.offset", fmt::format("{}", offsets.at(0))}};
  for (std::size_t r = 1; r < offsets.size(); ++r)
    file.metadata.emplace(fmt::format("random.offset.{}", r), fmt::format("{}", offsets[r]));
  for (const auto& [key, value] : settings) file.metadata.emplace(std::string(kSetting) + key, value);
  file.metadata.emplace(kHash, hash_of(file));
  return file;
}

NamedTensors read_checkpoint(const std::string& path) {
  NamedTensors file = read_safetensors(path);
  const auto hash = file.metadata.find(kHash);
  if (hash == file.metadata.end() || hash->second != hash_of(file))
    fail(ErrorCode::bad_file, fmt::format("{}: its bytes differ from those that were written", escape_name(path)));
  return file;
}

History history_of(const NamedTensors& file, const RunLength& extent) {
  const HostTensor *losses = file.find(kLosses), *epochs = file.find(kEpochs), *sums = file.find(kSums);
  for (const HostTensor* t : {losses, epochs, sums}) {
    if (t == nullptr || t->dtype != DType::f64) fail(ErrorCode::bad_file, "the checkpoint lacks its history");
  }
  if (sums->data.size() != sizeof(double)) fail(ErrorCode::bad_file, "the history of the checkpoint has no sum");
  History h;
  h.position = {metadata_count(file, "epoch"), metadata_count(file, "batch"), metadata_count(file, "step")};
  h.samples = metadata_count(file, "samples");
  h.losses = doubles(*losses);
  h.loss_sum = doubles(*sums)[0];
  if (const HostTensor* norms = file.find(kNorms)) {
    h.gradient_norms = norms->dtype == DType::f64 ? doubles(*norms) : std::vector<double>();
    if (h.gradient_norms.size() != h.losses.size())
      fail(ErrorCode::bad_file, "the norms of gradients in the checkpoint are of another number");
  }
  if (const HostTensor* further = file.find(kFurther); further != nullptr && !h.losses.empty()) {
    const std::vector<double> values = further->dtype == DType::f64 ? doubles(*further) : std::vector<double>();
    const std::size_t steps = h.losses.size();
    if (values.empty() || values.size() % steps != 0)
      fail(ErrorCode::bad_file, "the losses of further steps in the checkpoint are of another number");
    for (auto epoch_losses = values.begin(); epoch_losses != values.end();
         epoch_losses += static_cast<std::ptrdiff_t>(steps))
      h.further_losses.emplace_back(epoch_losses, epoch_losses + static_cast<std::ptrdiff_t>(steps));
  }
  const std::vector<double> numbers = doubles(*epochs);
  for (std::size_t i = 0; i + kFigures <= numbers.size(); i += kFigures) h.epochs.push_back(figures_of(&numbers[i]));
  if (const HostTensor* metrics = file.find(kMetrics); metrics != nullptr && !h.epochs.empty()) {
    const std::vector<double> values = metrics->dtype == DType::f64 ? doubles(*metrics) : std::vector<double>();
    const std::size_t metrics_per_epoch = values.size() / h.epochs.size();
    if (metrics_per_epoch == 0 || values.size() != metrics_per_epoch * h.epochs.size())
      fail(ErrorCode::bad_file, "the metrics in the checkpoint are of another number");
    for (std::size_t i = 0; i < h.epochs.size(); ++i)
      h.epochs[i].metrics.assign(&values[i * metrics_per_epoch], &values[i * metrics_per_epoch] + metrics_per_epoch);
  }
  require_within(h, extent);
  return h;
}

std::vector<std::uint64_t> random_offsets_of(const NamedTensors& file) {
  const std::uint64_t ranks = file.metadata.contains(kRanks) ? metadata_count(file, kRanks) : 1;
  std::vector<std::uint64_t> offsets = {metadata_count(file, "random.offset")};
  while (offsets.size() < ranks)
    offsets.push_back(metadata_count(file, fmt::format("random.offset.{}", offsets.size())));
  return offsets;
}

void restore(const NamedTensors& file, const Model& model, const RunLength& extent, const Ranks& ranks,
             Session& session, History& history) {
  History saved_history = history_of(file, extent);
  const std::vector<std::uint64_t> offsets = random_offsets_of(file);
  const auto rank_index = static_cast<std::size_t>(ranks.rank());  // a new rank gets its own stream
  const RandomPosition random{ranks.seed_of(metadata_count(file, "random.seed")),
                              offsets[rank_index < offsets.size() ? rank_index : 0]};
  for (const auto& [name, value] : states_of(file, model)) session.write_state(name, value);
  session.set_random_position(random);
  history = std::move(saved_history);
}

void require_same(const NamedTensors& file, const Settings& settings, const std::string& path) {
  std::string differences;
  for (const auto& [key, value] : settings) {
    if (key == "ranks") continue;  // batches and positions count the samples of all ranks
    const auto found = file.metadata.find(std::string(kSetting) + key);
    const std::string saved_value = found == file.metadata.end() ? "nothing" : found->second;
    if (saved_value != value)
      differences += fmt::format("\n  {}: {} there, {} now", key, escape_name(saved_value), escape_name(value));
  }
  if (!differences.empty()) {
    throw Error(
        ErrorCode::invalid_argument,  // several lines, unlike the messages of fail()
        fmt::format(
            "--resume: {} belongs to another run:{}\nGive the same options, or another folder with --checkpoint",
            escape_name(path), differences));
  }
}

std::vector<std::pair<std::string, Tensor>> states_of(const NamedTensors& file, const Model& model) {
  std::vector<std::pair<std::string, Tensor>> states;
  for (const StateInfo& s : model.states()) {
    if (!s.is_mutable) continue;
    const HostTensor* t = file.find(std::string(kState) + s.name);
    if (t == nullptr || t->dtype != s.dtype || t->sizes != s.sizes)
      fail(ErrorCode::bad_file, fmt::format("the checkpoint lacks the state '{}'", s.name));
    states.emplace_back(s.name, Tensor::borrow(static_cast<const void*>(t->data.data()), t->dtype, t->sizes));
  }
  return states;
}

}  // namespace tern::train
