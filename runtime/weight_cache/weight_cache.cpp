#include "runtime/weight_cache/weight_cache.h"

#include <fmt/format.h>
#include <tern/c_api.h>

#include <utility>

#include "kernels/cpu/processor.h"
#include "runtime/weight_cache/write_packed.h"

namespace tern {
namespace {

/// Complete key of the packed bytes. Lengths separate the components, independent of their content.
std::string text_of(const std::string& identity, const std::string& key) {
  static const std::string processor = cpu::processor();
  return fmt::format("tern {}\nprocessor {} {}\npacking {} {}\nweight {} {}\n", TERN_VERSION, processor.size(),
                     processor, key.size(), key, identity.size(), identity);
}

}  // namespace

const CacheFolder& WeightCache::folder() {
  std::call_once(opened_, [&] { folder_.emplace(choice_); });
  return *folder_;
}

std::span<const std::byte> WeightCache::find(const std::string& identity, const std::string& key) {
  if (identity.empty() || !folder().usable()) return {};
  const std::string text = text_of(identity, key);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = files_.find(text); found != files_.end()) return found->second->bytes();
    if (offered_.contains(text)) return {};
  }
  // The lock is not held: the first open of a file reads all bytes.
  auto file = PackedFile::open(folder(), text);
  if (file == nullptr) return {};
  const std::lock_guard lock(mutex_);
  return files_.emplace(text, std::move(file)).first->second->bytes();
}

void WeightCache::offer(const std::string& identity, const std::string& key,
                        std::function<std::vector<std::byte>()> pack) {
  if (identity.empty() || has_given_up_ || !folder().usable()) return;
  std::string text = text_of(identity, key);
  {
    const std::lock_guard lock(mutex_);
    if (files_.contains(text) || !offered_.insert(text).second) return;
  }
  jobs_.add([this, text = std::move(text), pack = std::move(pack)] { store_packed(text, pack); });
}

void WeightCache::store_packed(const std::string& text, const std::function<std::vector<std::byte>()>& pack) {
  if (has_given_up_ || has_packed(folder(), text)) return;
  const std::vector<std::byte> bytes = pack();
  // Gives up: packing further weights without room would be wasted work.
  if (!bytes.empty() && !write_packed(folder(), text, bytes)) has_given_up_ = true;
}

}  // namespace tern
