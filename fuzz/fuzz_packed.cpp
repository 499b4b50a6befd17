// Arbitrary bytes as a file of packed weights, unchanged and with a corrected payload hash: exactly the writer's bytes
// for the payload, or none at all.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/hash.h"
#include "runtime/weight_cache/file_names.h"
#include "runtime/weight_cache/packed_format.h"

namespace {

using namespace tern;

constexpr std::size_t kSizeAt = 16, kHashAt = 24;  // runtime/weight_cache/packed_format.h

/// True if the file has a payload for this key.
bool attempt(std::span<const std::byte> file, std::string_view key) {
  const auto found = find_payload(file, key);
  const auto checked = check_payload(file, key);
  if (!checked.empty() && checked.data() != found.data()) std::abort();
  if (found.empty()) return false;
  if (found.data() < file.data() || found.data() + found.size() != file.data() + file.size()) std::abort();
  if (checked.empty()) return false;
  const auto head = packed_head(key, checked.size(), segment_hash(checked));
  if (head.size() + checked.size() != file.size() || !std::ranges::equal(head, file.first(head.size()))) std::abort();
  return true;
}

}  // namespace

/// The first byte is the length of the key; the key and the file follow.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t key_size = std::min<std::size_t>(data[0], size - 1);
  const std::string key(reinterpret_cast<const char*>(data) + 1, key_size);
  std::vector<std::byte> file(size - 1 - key_size);
  if (!file.empty()) std::memcpy(file.data(), data + 1 + key_size, file.size());
  kind_of(key);
  attempt(file, key);
  const std::size_t head = head_size(key);
  if (file.size() <= head) return 0;
  // A random file hardly ever passes the checks of hash and size.
  const std::uint64_t payload_size = file.size() - head;
  const Hash128 hash = segment_hash(std::span(file).subspan(head));
  std::memcpy(file.data() + kSizeAt, &payload_size, sizeof payload_size);
  std::memcpy(file.data() + kHashAt, &hash, sizeof hash);
  if (attempt(file, key) && attempt(file, key + "x")) std::abort();
  return 0;
}
