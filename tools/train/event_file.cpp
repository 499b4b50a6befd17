#include "tools/train/event_file.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <bit>
#include <chrono>

#include "platform/error.h"
#include "platform/machine.h"
#include "tools/text.h"
#include "tools/train/folder.h"

namespace tern::train {
namespace {

constexpr std::size_t kFlushed = std::size_t{64} << 10;  // bytes of a buffer

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}();

// Protocol buffers: a key is the field's number and its kind, followed by the value.
enum class Kind : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_varint(std::string& buffer, std::uint64_t v) {
  for (; v >= 0x80; v >>= 7) buffer += static_cast<char>(v | 0x80);
  buffer += static_cast<char>(v);
}
void put_key(std::string& buffer, int field, Kind kind) {
  put_varint(buffer, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(kind));
}
template <class T>
void put_little_endian(std::string& buffer, T v) {
  for (std::size_t i = 0; i < sizeof v; ++i) buffer += static_cast<char>(v >> (8 * i));
}
void put_bytes(std::string& buffer, int field, std::string_view bytes) {
  put_key(buffer, field, Kind::bytes);
  put_varint(buffer, bytes.size());
  buffer += bytes;
}

/// Event with wall time and step.
std::string event_of(std::uint64_t step) {
  const std::chrono::duration<double> wall_time = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  put_key(event, 1, Kind::fixed64);
  put_little_endian(event, std::bit_cast<std::uint64_t>(wall_time.count()));
  put_key(event, 2, Kind::varint);
  put_varint(event, step);
  return event;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xff];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8U;
}

EventFile::EventFile(const std::string& folder, std::uint64_t first_step) {
  make_durable_folder(folder);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string host = platform::host_name();
  path_ = fmt::format("{}/events.out.tfevents.{}.{}.{}", folder, seconds, host.empty() ? "localhost" : host,
                      platform::process_number());
  file_ = platform::create_file(path_);
  if (!file_.is_open())
    fail(ErrorCode::io,
         fmt::format("cannot create {}: {}", escape_name(path_), platform::error_text(platform::last_error())));
  std::string version = event_of(0);
  put_bytes(version, 3, "brain.Event:2");
  record(version);
  if (first_step > 0) {
    std::string session;
    put_key(session, 1, Kind::varint);
    put_varint(session, 1);  // START
    std::string start = event_of(first_step + 1);
    put_bytes(start, 7, session);
    record(start);
  }
  flush();
}

void EventFile::add(std::uint64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const auto& [tag, number] : scalars) {
    std::string value;
    put_bytes(value, 1, tag);
    put_key(value, 2, Kind::fixed32);
    put_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    put_bytes(summary, 1, value);
  }
  std::string event = event_of(step);
  put_bytes(event, 5, summary);
  record(event);
  if (buffer_.size() >= kFlushed) flush();
}

void EventFile::record(const std::string& event) {
  std::string length;
  put_little_endian(length, static_cast<std::uint64_t>(event.size()));
  buffer_ += length;
  put_little_endian(buffer_, masked_crc32c(length));
  buffer_ += event;
  put_little_endian(buffer_, masked_crc32c(event));
}

void EventFile::flush() {
  if (!file_.write(std::as_bytes(std::span(buffer_))))
    fail(ErrorCode::io,
         fmt::format("cannot write {}: {}", escape_name(path_), platform::error_text(platform::last_error())));
  buffer_.clear();
}

}  // namespace tern::train
