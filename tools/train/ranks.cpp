#include "tools/train/ranks.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "tools/text.h"

namespace tern::train {
namespace {

constexpr double kSecondsBetween = 0.1;
/// Settings of a rank's own machine: other bits, but the same run.
constexpr std::string_view kLocalOptions[] = {"threads", "device"};

void append_text(std::vector<std::byte>& bytes, std::string_view text) {
  const std::uint64_t size = text.size();
  const auto* length = reinterpret_cast<const std::byte*>(&size);
  bytes.insert(bytes.end(), length, length + sizeof(size));
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), data, data + text.size());
}

/// Reads the bytes written by append_text() on rank 0 of the same program version.
std::string consume_text(std::span<const std::byte>& bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < sizeof(size)) fail(ErrorCode::internal, "rank 0 sent too few bytes");
  std::memcpy(&size, bytes.data(), sizeof(size));
  bytes = bytes.subspan(sizeof(size));
  if (bytes.size() < size) fail(ErrorCode::internal, "rank 0 sent too few bytes");
  std::string text(reinterpret_cast<const char*>(bytes.data()), size);
  bytes = bytes.subspan(size);
  return text;
}

template <class Pairs>
std::vector<std::byte> put_pairs(const Pairs& pairs) {
  std::vector<std::byte> bytes;
  for (const auto& [key, value] : pairs) {
    append_text(bytes, key);
    append_text(bytes, value);
  }
  return bytes;
}
std::map<std::string, std::string> take_pairs(std::span<const std::byte> bytes) {
  std::map<std::string, std::string> pairs;
  while (!bytes.empty()) {
    std::string key = consume_text(bytes);
    pairs.emplace(std::move(key), consume_text(bytes));
  }
  return pairs;
}

}  // namespace

std::vector<std::uint64_t> Ranks::share(std::span<const std::uint64_t> samples) const {
  std::vector<std::uint64_t> own;
  for (auto i = static_cast<std::size_t>(rank()); i < samples.size(); i += static_cast<std::size_t>(size()))
    own.push_back(samples[i]);
  return own;
}

std::uint64_t Ranks::share_size(std::uint64_t samples) const {
  const auto ranks = static_cast<std::uint64_t>(size()), mine = static_cast<std::uint64_t>(rank());
  return samples / ranks + (mine < samples % ranks ? 1 : 0);
}

void Ranks::add(std::span<double> numbers) const {
  if (alone()) return;
  group_->run({.kind = CollectiveKind::all_reduce,
               .reduce = ReduceOp::sum,
               .dtype = DType::f64,
               .count = std::ssize(numbers),
               .input = numbers.data(),
               .output = numbers.data()});
}

std::vector<std::uint64_t> Ranks::gather(std::span<const std::uint64_t> numbers) const {
  std::vector<std::uint64_t> all(numbers.begin(), numbers.end());
  if (alone()) return all;
  all.resize(numbers.size() * static_cast<std::size_t>(size()));
  group_->run({.kind = CollectiveKind::all_gather,
               .dtype = DType::u64,
               .count = std::ssize(numbers),
               .input = numbers.data(),
               .output = all.data()});
  return all;
}

void Ranks::share_of_first(std::vector<std::byte>& bytes) const {
  if (alone()) return;
  std::uint64_t size = bytes.size();
  group_->run({.kind = CollectiveKind::broadcast, .dtype = DType::u64, .count = 1, .input = &size, .output = &size});
  bytes.resize(size);
  if (size == 0) return;
  group_->run({.kind = CollectiveKind::broadcast,
               .dtype = DType::u8,
               .count = std::ssize(bytes),
               .input = bytes.data(),
               .output = bytes.data()});
}

void Ranks::share_of_first(NamedTensors& file) const {
  if (alone()) return;
  std::vector<std::byte> metadata = put_pairs(file.metadata), heads;
  for (const auto& [name, t] : file.tensors) {
    append_text(heads, name);
    append_text(heads, {reinterpret_cast<const char*>(&t.dtype), sizeof(t.dtype)});
    append_text(heads, {reinterpret_cast<const char*>(t.sizes.data()), t.sizes.size() * sizeof(std::int64_t)});
  }
  share_of_first(metadata);
  share_of_first(heads);
  if (!leads()) {
    file = {};
    file.metadata = take_pairs(metadata);
    for (std::span<const std::byte> remaining = heads; !remaining.empty();) {
      auto& [name, t] = file.tensors.emplace_back(consume_text(remaining), HostTensor{});
      const std::string dtype = consume_text(remaining), sizes = consume_text(remaining);
      std::memcpy(&t.dtype, dtype.data(), std::min(dtype.size(), sizeof(t.dtype)));
      t.sizes.resize(sizes.size() / sizeof(std::int64_t));
      if (!t.sizes.empty()) std::memcpy(t.sizes.data(), sizes.data(), t.sizes.size() * sizeof(std::int64_t));
    }
  }
  for (auto& [name, t] : file.tensors) share_of_first(t.data);
}

void Ranks::require_same(const Settings& settings) const {
  if (alone()) return;
  std::vector<std::byte> bytes = put_pairs(settings);
  share_of_first(bytes);
  std::map<std::string, std::string> first = take_pairs(bytes);
  std::string others;
  for (const auto& [key, value] : settings) {
    if (std::ranges::find(kLocalOptions, key) != std::end(kLocalOptions) || first[key] == value) continue;
    others += fmt::format("{}{}: {} on rank 0, {} on rank {}", others.empty() ? "" : "; ", key, escape_name(first[key]),
                          escape_name(value), rank());
  }
  if (!others.empty()) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the settings of the ranks differ: {}. Start all ranks with the same archive, data and options",
                     others));
  }
}

std::uint64_t Ranks::seed_of(std::uint64_t seed) const {
  if (leads()) return seed;
  const auto mine = static_cast<std::uint64_t>(rank());
  return XXH3_64bits_withSeed(&mine, sizeof(mine), seed);
}

int CommonStop::operator()(int signal, std::uint64_t step) {
  if (ranks_.alone()) return signal;
  if (step < next_) return 0;
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - last_poll_).count();
  const double steps = static_cast<double>(std::max<std::uint64_t>(step - previous_step_, 1));
  const double until = std::clamp(steps * kSecondsBetween / std::max(seconds, 1e-9), 1.0, 1e6);
  last_poll_ = now;
  previous_step_ = step;
  const std::uint64_t mine[] = {static_cast<std::uint64_t>(signal), static_cast<std::uint64_t>(until)};
  const std::vector<std::uint64_t> gathered = ranks_.gather(mine);
  // Limits growth to twice the steps between the last two questions: the first steps are slow.
  next_ = step + std::min<std::uint64_t>(gathered[1], 2 * static_cast<std::uint64_t>(steps));
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < gathered.size(); i += 2) largest = std::max(largest, gathered[i]);
  return static_cast<int>(largest);
}

}  // namespace tern::train
