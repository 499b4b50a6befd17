#include "runtime/weights/replace.h"

#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "kernels/kernel.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/state_names.h"

namespace tern {
namespace {

constexpr std::size_t kMaxNames = 8;  // most names in a message
constexpr std::string_view kSeparator = ", ";

TensorView view_of(const State& s, const std::byte* data) {
  TensorView v;
  v.dtype = s.type.dtype;
  v.rank = s.type.rank();
  for (std::size_t i = 0; i < s.type.shape.size(); ++i) v.sizes[i] = s.type.shape[i].value();
  make_contiguous(v);
  v.data = const_cast<std::byte*>(data);
  return v;
}

/// True if the elements are dense and disjoint: some order of the axes is row-major.
bool is_dense(const State& s) {
  std::int64_t reach = 1, count = 1;
  for (std::size_t i = 0; i < s.strides.size(); ++i) {
    if (s.strides[i] < 1) return false;
    count *= s.type.shape[i].value();
    reach += (s.type.shape[i].value() - 1) * s.strides[i];
  }
  if (reach != count) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  for (std::size_t i = 0; i < s.strides.size(); ++i) {
    if (!s.type.shape[i].is(1)) axes.emplace_back(s.strides[i], s.type.shape[i].value());
  }
  std::ranges::sort(axes);
  std::int64_t expected = 1;
  for (const auto& [stride, size] : axes) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

std::string text_of(const FileTensor& t) {
  std::string text(name_of(t.dtype));
  for (std::size_t i = 0; i < t.sizes.size(); ++i) text += (i == 0 ? "[" : ", ") + std::to_string(t.sizes[i]);
  return text + (t.sizes.empty() ? "[]" : "]");
}

}  // namespace

void NameList::add(std::string_view name) {
  if (++count_ > kMaxNames) return;
  names_.append(names_.empty() ? "" : kSeparator).append(name.substr(0, 200));
}

std::string NameList::text() const {
  return count_ <= kMaxNames ? names_ : names_ + " and " + std::to_string(count_ - kMaxNames) + " more";
}

bool is_folded(const Program& program, std::string_view name) {
  const std::string* folded = program.find_metadata("folded");
  if (folded == nullptr || name.empty()) return false;
  for (std::size_t at = folded->find(name); at != std::string::npos; at = folded->find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || (at >= 2 && std::string_view(*folded).substr(at - 2, 2) == kSeparator);
    if (begins && (end == folded->size() || std::string_view(*folded).substr(end, 2) == kSeparator)) return true;
  }
  return false;
}

std::vector<bool> replaceable_states(const Program& program) {
  // Archives without this metadata come from versions without a list of folded states.
  const std::string* source = program.find_metadata("source");
  const bool unknown = source != nullptr && program.find_metadata("folded") == nullptr;
  std::vector<bool> result(program.states.size());
  std::vector<std::int32_t> first(program.storages.size(), -1);  // state of each storage
  std::vector<bool> odd(program.storages.size());                // several different views
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    if (first[s.storage] < 0) first[s.storage] = static_cast<std::int32_t>(i);
    const State& other = program.states[static_cast<std::size_t>(first[s.storage])];
    if (!(s.type == other.type) || s.strides != other.strides || s.offset != other.offset) odd[s.storage] = true;
  }
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    result[i] = !unknown && !odd[s.storage] && !s.type.packed() && !s.name.starts_with("export.") &&
                !is_folded(program, s.name);
  }
  return result;
}

/// The old storages, followed by the new bytes.
class WeightReplacement::Source : public StorageSource {
 public:
  Source(std::shared_ptr<StorageSource> base, std::uint32_t count, std::shared_ptr<const FileBytes> file)
      : base_(std::move(base)), count_(count), file_(std::move(file)) {}
  std::span<const std::byte> bytes(std::uint32_t storage) override {
    return storage < count_ ? base_->bytes(storage) : added_[storage - count_].bytes;
  }
  const std::byte* address(std::uint32_t storage) override {
    return storage < count_ ? base_->address(storage) : added_[storage - count_].bytes.data();
  }
  void release(std::uint32_t storage) override {
    if (storage < count_) return base_->release(storage);
    const Added& a = added_[storage - count_];
    if (!a.is_owned) file_->release(a.bytes);
  }
  std::string identity(std::uint32_t storage) const override {
    return storage < count_ ? base_->identity(storage) : std::string();
  }
  void add(std::span<const std::byte> bytes, MemoryPages owned, bool is_owned) {
    added_.push_back({bytes, std::move(owned), is_owned});
  }

 private:
  struct Added {
    std::span<const std::byte> bytes;
    MemoryPages owned;
    bool is_owned;
  };
  std::shared_ptr<StorageSource> base_;
  std::uint32_t count_;
  std::shared_ptr<const FileBytes> file_;
  std::vector<Added> added_;
};

WeightReplacement::WeightReplacement(const Program& program, std::shared_ptr<const FileBytes> file)
    : program_(std::make_shared<Program>(program)),
      source_(std::make_shared<Source>(program.source, static_cast<std::uint32_t>(program.storages.size()),
                                       std::move(file))) {
  program_->source = source_;
}

void WeightReplacement::set(std::uint32_t state, std::span<const std::byte> bytes, MemoryPages owned) {
  const State before = program_->states[state];
  const auto storage = static_cast<std::uint32_t>(program_->storages.size());
  bool is_owned = !owned.bytes().empty();
  const auto keep = [&](MemoryPages copy) {
    owned = std::move(copy);
    bytes = owned.bytes();
    is_owned = true;
  };
  // Tensors of a safetensors file may begin at any offset.
  const auto element = static_cast<std::uintptr_t>(element_size(before.type.dtype));
  if (!bytes.empty() && reinterpret_cast<std::uintptr_t>(bytes.data()) % element != 0) {
    MemoryPages copy(bytes.size());
    std::memcpy(copy.bytes().data(), bytes.data(), bytes.size());
    keep(std::move(copy));
  }
  const TensorView from = view_of(before, bytes.data());
  TensorView to = from;
  if (is_dense(before)) std::ranges::copy(before.strides, to.strides.begin());
  if (!bytes.empty() && !to.contiguous()) {
    MemoryPages copy(bytes.size());
    to.data = copy.bytes().data();
    copy_strided(from, to);
    keep(std::move(copy));
  }
  source_->add(bytes, std::move(owned), is_owned);
  program_->storages.push_back({bytes.size()});
  for (State& s : program_->states) {
    if (s.storage != before.storage) continue;
    s.storage = storage;
    s.offset = 0;
    s.strides.assign(to.strides.begin(), to.strides.begin() + to.rank);
  }
}

Model Model::with_weights(const std::string& path) const {
  const WeightFile weights = open_weights(path);
  const Program& program = *program_;
  const std::vector<bool> replaceable = replaceable_states(program);
  NameList unknown, folded, fixed, different;
  WeightReplacement replacement(program, weights.file);
  std::map<std::uint32_t, std::pair<const std::string*, const FileTensor*>> done;  // keyed by storage
  std::map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < program.states.size(); ++i) numbers.emplace(program.states[i].name, i);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : weights.tensors) names.push_back(name);
  const ModulePrefix prefix = find_prefix(program, names);
  std::string nearest;  // state whose name resembles the first unknown name
  for (const auto& [in_file, tensor] : weights.tensors) {
    const std::string prefixed = prefix.state_name(in_file), &name = prefixed.empty() ? in_file : prefixed;
    const auto found = numbers.find(name);
    if (is_folded(program, name)) {
      folded.add(name);
    } else if (found == numbers.end()) {
      if (unknown.empty()) nearest = nearest_state(program, name);
      unknown.add(name);
    } else if (!replaceable[found->second]) {
      fixed.add(name);
    } else {
      const State& s = program.states[found->second];
      const auto tied = done.emplace(s.storage, std::pair(&in_file, &tensor));
      if (tensor.dtype != s.type.dtype || !std::ranges::equal(tensor.sizes, view_of(s, nullptr).shape())) {
        different.add("'" + name + "' is " + text_of(s.type, program.pool) + ", but " + text_of(tensor) +
                      " in the file");
      } else if (tied.second) {
        replacement.set(found->second, tensor.bytes);
      } else if (!std::ranges::equal(tied.first->second.second->bytes, tensor.bytes)) {
        different.add("'" + name + "' is the same tensor as '" + *tied.first->second.first +
                      "', but has other values in the file");
      }
    }
  }
  std::string wrong;
  if (!folded.empty())
    wrong += "\n  export merged these into other weights ('tern export --no-fold' keeps them): " + folded.text();
  if (!unknown.empty()) wrong += "\n  the program has no such state: " + unknown.text() + nearest;
  if (!fixed.empty())
    wrong += "\n  these cannot be replaced (made or packed by export, or one of several views of one memory): " +
             fixed.text();
  if (!different.empty()) wrong += "\n  " + different.text();
  if (!wrong.empty()) fail(ErrorCode::invalid_argument, path + ": the weights do not fit the program:" + wrong);
  return Model(replacement.finish());
}

}  // namespace tern
