#include "exporter/pt2/parse_payloads.h"

#include <fmt/format.h>

#include <optional>

#include "exporter/pt2/parse_parts.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

// Bytes from the storage's start to the end of the last element, 0 without elements; nothing beyond 63 bits.
std::optional<std::uint64_t> bytes_reached(const TensorMeta& meta) {
  std::int64_t last = meta.storage_offset.value;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d].value == 0) return 0;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(meta.sizes[d].value - 1, meta.strides[d].value, &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, element_size(meta.dtype), &bytes))
    return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

// Elements, overlapping ones included, must be countable in bytes.
bool countable(const TensorMeta& meta) {
  std::int64_t bytes = element_size(meta.dtype);
  for (const auto& size : meta.sizes)
    if (size.value != 0 && __builtin_mul_overflow(bytes, size.value, &bytes)) return false;
  return true;
}

void check_literal(const JsonValue& value, const TensorMeta& meta) {
  bool literal = meta.storage_offset.is_literal();
  for (const auto& size : meta.sizes) literal = literal && size.is_literal();
  for (const auto& stride : meta.strides) literal = literal && stride.is_literal();
  if (!literal) value.bad("sizes, strides and offset of saved data must be numbers");
}

void check_inside(const JsonValue& value, const Payload& payload, std::uint64_t entry_bytes) {
  const TensorMeta& meta = payload.tensor;
  check_literal(value, meta);
  // Pickle entries have another layout, and sparse tensors have no strides.
  if (payload.use_pickle || meta.layout != Layout::strided) return;
  const auto byte_count = bytes_reached(meta);
  if (!byte_count || !countable(meta)) value.bad("the tensor is larger than 2^63 bytes");
  const bool not_saved = entry_bytes == 0;
  if (*byte_count > entry_bytes && !not_saved)
    value.bad(fmt::format("the tensor needs {} bytes of entry {}, which has {}", *byte_count, quote(payload.entry),
                          entry_bytes));
}

Payload parse_payload(JsonValue value, const Container& container, const std::string& folder) {
  Payload payload;
  payload.is_param = value["is_param"].as_bool();
  payload.use_pickle = value["use_pickle"].as_bool();
  const JsonValue path = value["path_name"];
  payload.entry = fmt::format("{}/{}/{}", container.root(), folder, parse_identifier(path));
  const ContainerEntry* entry = container.find(payload.entry);
  if (!entry) path.bad(fmt::format("entry {} is missing from the archive", quote(payload.entry)));
  if (const auto meta = value.find("tensor_meta")) {
    payload.has_tensor = true;
    payload.tensor = parse_tensor_meta(*meta);
    check_inside(*meta, payload, entry->size);
  }
  return payload;
}

}  // namespace

NameMap<Payload> parse_payloads(const Container& container, const ContainerEntry& config, const std::string& folder) {
  container.verify_crc(config);
  const auto bytes = container.data(config);
  const JsonDocument document({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                              fmt::format("{}: {}", container.label(), config.name));
  NameMap<Payload> payloads;
  for (const JsonValue member : document.root()["config"].object())
    payloads.add(parse_key(member), parse_payload(member, container, folder));
  payloads.seal();
  return payloads;
}

}  // namespace tern::pt2
