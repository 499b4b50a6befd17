#include "loader/prologue.h"

#include <cstring>

namespace tern {
namespace {

template <class T>
void put(PrologueBytes& bytes, std::uint64_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

template <class T>
void get(std::span<const std::byte> bytes, std::uint64_t at, T& value) {
  std::memcpy(&value, bytes.data() + at, sizeof(T));
}

}  // namespace

PrologueBytes encode(const Prologue& p) {
  PrologueBytes bytes{};
  put(bytes, PrologueField::magic, kMagic);
  put(bytes, PrologueField::major, p.major);
  put(bytes, PrologueField::minor, p.minor);
  put(bytes, PrologueField::index_offset, p.index_offset);
  put(bytes, PrologueField::index_size, p.index_size);
  put(bytes, PrologueField::hash, p.hash.low);
  put(bytes, PrologueField::hash + 8, p.hash.high);
  return bytes;
}

Prologue decode_prologue(std::span<const std::byte, kPrologueSize> bytes) {
  Prologue p;
  get(bytes, PrologueField::major, p.major);
  get(bytes, PrologueField::minor, p.minor);
  get(bytes, PrologueField::index_offset, p.index_offset);
  get(bytes, PrologueField::index_size, p.index_size);
  get(bytes, PrologueField::hash, p.hash.low);
  get(bytes, PrologueField::hash + 8, p.hash.high);
  return p;
}

Hash128 index_hash(std::span<const std::byte, kPrologueSize> prologue, std::span<const std::byte> index) {
  return hash_of(std::span(prologue).first(kHashedPrologue), index);
}

}  // namespace tern
