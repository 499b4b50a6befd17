#include "loader/prologue.h"

#include <cstring>

namespace tern {
namespace {

template <class T>
void store_field(PrologueBytes& bytes, std::uint64_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

template <class T>
void load_field(std::span<const std::byte> bytes, std::uint64_t offset, T& value) {
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
}

}  // namespace

PrologueBytes encode(const Prologue& p) {
  PrologueBytes bytes{};
  store_field(bytes, PrologueField::magic, kMagic);
  store_field(bytes, PrologueField::major, p.major);
  store_field(bytes, PrologueField::minor, p.minor);
  store_field(bytes, PrologueField::index_offset, p.index_offset);
  store_field(bytes, PrologueField::index_size, p.index_size);
  store_field(bytes, PrologueField::hash, p.hash.low);
  store_field(bytes, PrologueField::hash + 8, p.hash.high);
  return bytes;
}

Prologue decode_prologue(std::span<const std::byte, kPrologueSize> bytes) {
  Prologue p;
  load_field(bytes, PrologueField::major, p.major);
  load_field(bytes, PrologueField::minor, p.minor);
  load_field(bytes, PrologueField::index_offset, p.index_offset);
  load_field(bytes, PrologueField::index_size, p.index_size);
  load_field(bytes, PrologueField::hash, p.hash.low);
  load_field(bytes, PrologueField::hash + 8, p.hash.high);
  return p;
}

Hash128 index_hash(std::span<const std::byte, kPrologueSize> prologue, std::span<const std::byte> index) {
  return hash_of(std::span(prologue).first(kHashedPrologue), index);
}

}  // namespace tern
