#include "runtime/weight_cache/packed_format.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "loader/format.h"

namespace tern {
namespace {

constexpr std::array<unsigned char, 8> kPackedMagic = {0x89, 'T', 'P', 'A', 'C', 'K', '\r', '\n'};
constexpr std::uint32_t kPackedVersion = 1;
constexpr std::size_t kHashAt = 24, kKeyAt = 40;

template <class T>
std::byte* append_value(std::byte* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

Hash128 hash_in(std::span<const std::byte> file) {
  Hash128 hash;
  std::memcpy(&hash, file.data() + kHashAt, sizeof hash);
  return hash;
}

}  // namespace

std::size_t head_size(std::string_view key) {
  return align_up(kKeyAt + key.size(), kPageAlignment);
}

std::vector<std::byte> packed_head(std::string_view key, std::uint64_t payload_size, const Hash128& payload_hash) {
  std::vector<std::byte> head(head_size(key));
  std::byte* cursor = append_value(head.data(), kPackedMagic);
  cursor = append_value(cursor, kPackedVersion);
  cursor = append_value(cursor, static_cast<std::uint32_t>(key.size()));
  cursor = append_value(cursor, payload_size);
  cursor = append_value(cursor, payload_hash);
  std::ranges::copy(std::as_bytes(std::span(key)), cursor);
  return head;
}

bool is_packed_head(std::span<const std::byte> head, std::string_view key, std::uint64_t payload_size) {
  // Compares the whole header with the expected header, so that every byte is checked.
  return head.size() >= kKeyAt && std::ranges::equal(head, packed_head(key, payload_size, hash_in(head)));
}

std::span<const std::byte> find_payload(std::span<const std::byte> file, std::string_view key) {
  const std::size_t head = head_size(key);
  if (file.size() <= head || !is_packed_head(file.first(head), key, file.size() - head)) return {};
  return file.subspan(head);
}

std::span<const std::byte> check_payload(std::span<const std::byte> file, std::string_view key) {
  const auto payload = find_payload(file, key);
  return !payload.empty() && segment_hash(payload) == hash_in(file) ? payload : std::span<const std::byte>();
}

}  // namespace tern
