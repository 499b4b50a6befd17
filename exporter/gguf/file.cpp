#include "exporter/gguf/file.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "dtypes/printable.h"
#include "exporter/gguf/types.h"
#include "exporter/pt2/mapped_file.h"

namespace tern::gguf {

static_assert(std::endian::native == std::endian::little, "the reader takes numbers as they lie in the file");

struct File::State {
  std::string label;
  std::unique_ptr<const pt2::MappedFile> mapping;
  std::span<const std::byte> bytes;
  std::uint32_t version = 0;
  std::vector<std::pair<std::string_view, MetadataValue>> metadata;
  std::vector<TensorRecord> tensors;
  std::unordered_map<std::string_view, std::size_t> keys, names;
};

namespace {

constexpr std::size_t kLongestKey = 65535, kLongestTensorName = 255;
constexpr std::uint32_t kMostAxes = 4;
constexpr std::uint64_t kDefaultAlignment = 32, kMostAlignment = 1 << 20;
constexpr std::uint64_t kLeastEntry = 8 + 4 + 1, kLeastRecord = 8 + 4 + 4 + 8;  // bytes in the file

std::string name_text(std::string_view name) {
  constexpr std::size_t kMaxShownBytes = 80;
  return printable(name.substr(0, kMaxShownBytes)) + (name.size() > kMaxShownBytes ? "..." : "");
}

/// Bytes of a scalar; 0 for texts, arrays and unknown types.
std::uint64_t scalar_size(ValueType t) {
  switch (t) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean: return 1;
    case ValueType::u16:
    case ValueType::i16: return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32: return 4;
    case ValueType::u64:
    case ValueType::i64:
    case ValueType::f64: return 8;
    default: return 0;
  }
}

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& label) : bytes_(bytes), label_(label) {}

  template <class S>
  void read(S& s) {
    read_prologue(s);
    for (std::uint64_t i = 0; i < entries_; ++i) read_entry(s);
    for (std::uint64_t i = 0; i < records_; ++i) read_record(s);
    place_tensors(s);
  }

 private:
  [[noreturn]] void refuse(std::uint64_t offset, const std::string& problem,
                           ErrorCode code = ErrorCode::bad_file) const {
    fail(code, fmt::format("{}: at byte {}: {}", label_, offset, problem));
  }

  std::span<const std::byte> read_bytes(std::uint64_t size, const char* field) {
    if (size > bytes_.size() - offset_)
      refuse(offset_,
             fmt::format("{} of {} bytes ends behind the end of the file, {} bytes; the file may be truncated: "
                         "download it again",
                         field, size, bytes_.size()));
    const auto bytes = bytes_.subspan(offset_, size);
    offset_ += size;
    return bytes;
  }

  template <class T>
  T number(const char* field) {
    T value;
    std::memcpy(&value, read_bytes(sizeof value, field).data(), sizeof value);
    return value;
  }

  std::string_view text(const char* field, std::size_t longest) {
    const std::uint64_t start = offset_;
    const auto size = number<std::uint64_t>(field);
    if (size > longest) refuse(start, fmt::format("{} has {} bytes; at most {} are allowed", field, size, longest));
    const auto bytes = read_bytes(size, field);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  template <class S>
  void read_prologue(S& s) {
    const auto magic = read_bytes(4, "the magic");
    if (std::memcmp(magic.data(), "GGUF", 4) != 0) refuse(0, "the file does not begin with GGUF");
    s.version = number<std::uint32_t>("the version");
    if (s.version == 1 || (s.version & 0xffff) == 0)
      refuse(4,
             s.version == 1 ? "version 1 of the format is not supported; convert the model again with a newer llama.cpp"
                            : "the file has big-endian numbers, which are not supported",
             ErrorCode::unsupported);
    if (s.version > 3)
      refuse(4, fmt::format("version {} of the format is not known; this reader knows 2 and 3", s.version),
             ErrorCode::unsupported);
    records_ = count("the number of tensors", kLeastRecord);
    entries_ = count("the number of metadata entries", kLeastEntry);
    s.metadata.reserve(entries_);
    s.tensors.reserve(records_);
  }

  /// A number of items of at least `lower` bytes each.
  std::uint64_t count(const char* field, std::uint64_t lower) {
    const std::uint64_t start = offset_;
    const auto n = number<std::uint64_t>(field);
    if (n > (bytes_.size() - offset_) / lower)
      refuse(start,
             fmt::format("{}, {}, does not fit the rest of the file, {} bytes", field, n, bytes_.size() - offset_));
    return n;
  }

  ValueType value_type() {
    const std::uint64_t start = offset_;
    const auto n = number<std::uint32_t>("a type of metadata");
    if (n > static_cast<std::uint32_t>(ValueType::f64)) refuse(start, fmt::format("metadata of unknown type {}", n));
    return static_cast<ValueType>(n);
  }

  template <class S>
  void read_entry(S& s) {
    const std::uint64_t start = offset_;
    const std::string_view key = text("a key of the metadata", kLongestKey);
    MetadataValue v;
    v.type = value_type();
    v.offset = offset_;
    if (v.type == ValueType::array) {
      v.element = value_type();
      if (v.element == ValueType::array) refuse(v.offset, fmt::format("{} is an array of arrays", name_text(key)));
      read_array(v);
    } else if (v.type == ValueType::text) {
      const std::string_view t = text("a text of the metadata", std::numeric_limits<std::size_t>::max());
      v.bytes = std::as_bytes(std::span(t.data(), t.size()));
    } else {
      v.bytes = read_bytes(scalar_size(v.type), "a value of the metadata");
      if (v.type == ValueType::boolean && v.bytes[0] > std::byte{1})
        refuse(v.offset, fmt::format("{} is neither true nor false", name_text(key)));
    }
    if (!s.keys.emplace(key, s.metadata.size()).second)
      refuse(start, fmt::format("the key {} occurs twice", name_text(key)));
    s.metadata.emplace_back(key, v);
  }

  void read_array(MetadataValue& v) {
    const std::uint64_t size = v.element == ValueType::text ? sizeof(std::uint64_t) : scalar_size(v.element);
    v.count = count("the length of an array", size);
    const std::uint64_t begin = offset_;
    if (v.element != ValueType::text) {
      v.bytes = read_bytes(v.count * size, "an array");
      return;
    }
    for (std::uint64_t i = 0; i < v.count; ++i) text("a text of an array", std::numeric_limits<std::size_t>::max());
    v.bytes = bytes_.subspan(begin, offset_ - begin);
  }

  template <class S>
  void read_record(S& s) {
    TensorRecord t;
    t.record_offset = offset_;
    t.name = text("a tensor's name", kLongestTensorName);
    const std::uint64_t start = offset_;
    const auto axes = number<std::uint32_t>("a tensor's number of axes");
    if (axes == 0 || axes > kMostAxes)
      refuse(start, fmt::format("tensor {} has {} axes; 1 to {} are allowed", name_text(t.name), axes, kMostAxes));
    t.sizes.resize(axes);
    for (std::uint32_t i = axes; i-- > 0;) {
      const std::uint64_t at_size = offset_;
      const auto size = number<std::uint64_t>("a tensor's size");
      if (size == 0 || size > (std::uint64_t{1} << 40))
        refuse(at_size, fmt::format("tensor {} has the size {}", name_text(t.name), size));
      t.sizes[i] = static_cast<std::int64_t>(size);
    }
    t.type = number<std::uint32_t>("a tensor's type");
    const std::uint64_t at_offset = offset_;
    t.offset = number<std::uint64_t>("a tensor's offset");
    if (!s.names.emplace(t.name, s.tensors.size()).second)
      refuse(t.record_offset, fmt::format("the tensor {} occurs twice", name_text(t.name)));
    offsets_.push_back(at_offset);
    s.tensors.push_back(std::move(t));
  }

  template <class S>
  std::uint64_t alignment(const S& s) const {
    const auto found = s.keys.find("general.alignment");
    if (found == s.keys.end()) return kDefaultAlignment;
    const MetadataValue& v = s.metadata[found->second].second;
    std::uint32_t n = 0;
    if (v.type != ValueType::u32) refuse(v.offset, "general.alignment is not a uint32");
    std::memcpy(&n, v.bytes.data(), sizeof n);
    if (!std::has_single_bit(n) || n < 8 || n > kMostAlignment)
      refuse(v.offset, fmt::format("general.alignment is {}, no power of two from 8 to {}", n, kMostAlignment));
    return n;
  }

  template <class S>
  void place_tensors(S& s) const {
    const std::uint64_t align = alignment(s);
    if (s.tensors.empty()) return;
    const std::uint64_t begin = (offset_ + align - 1) / align * align;
    if (begin > bytes_.size())
      refuse(offset_, "the file ends before the data of its tensors; it may be truncated: download it again");
    for (std::size_t i = 0; i < s.tensors.size(); ++i) {
      TensorRecord& t = s.tensors[i];
      if (t.offset % align != 0)
        refuse(offsets_[i], fmt::format("tensor {} begins at {}, which is no multiple of the alignment, {}",
                                        name_text(t.name), t.offset, align));
      const std::uint64_t size = tensor_bytes(t);
      if (t.offset > bytes_.size() - begin || size > bytes_.size() - begin - t.offset)
        refuse(offsets_[i],
               fmt::format("tensor {} of {} bytes at {} ends behind the end of the file, {} bytes; the file "
                           "may be truncated: download it again",
                           name_text(t.name), size, begin + t.offset, bytes_.size()));
      t.offset += begin;
      t.bytes = bytes_.subspan(t.offset, size);
    }
  }

  std::uint64_t tensor_bytes(const TensorRecord& t) const {
    const BlockType* type = find_block_type(t.type);
    if (type == nullptr)
      refuse(t.record_offset,
             fmt::format("tensor {} has the type {}, which is not supported; {}", name_text(t.name), type_text(t.type),
                         supported_types_text()),
             ErrorCode::unsupported);
    std::uint64_t elements = 1;
    for (const std::int64_t size : t.sizes) {
      if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(size), &elements) ||
          elements > (std::uint64_t{1} << 48))
        refuse(t.record_offset, fmt::format("tensor {} has too many elements", name_text(t.name)));
    }
    if (t.sizes.back() % type->elements != 0)
      refuse(t.record_offset, fmt::format("tensor {} has rows of {} elements, which do not divide into {} blocks of {}",
                                          name_text(t.name), t.sizes.back(), type->name, type->elements));
    return elements / static_cast<std::uint64_t>(type->elements) * static_cast<std::uint64_t>(type->bytes);
  }

  std::span<const std::byte> bytes_;
  const std::string& label_;
  std::uint64_t offset_ = 0, records_ = 0, entries_ = 0;
  std::vector<std::uint64_t> offsets_;  ///< file offsets of the tensors' offsets
};

}  // namespace

File File::open(const std::string& path) {
  auto state = std::make_shared<State>();
  state->label = path;
  state->mapping = pt2::MappedFile::open(path);
  state->bytes = state->mapping->bytes();
  HeaderReader(state->bytes, state->label).read(*state);
  return File(std::move(state));
}

File File::borrow(std::span<const std::byte> bytes, std::string label) {
  auto state = std::make_shared<State>();
  state->label = std::move(label);
  state->bytes = bytes;
  HeaderReader(state->bytes, state->label).read(*state);
  return File(std::move(state));
}

const std::string& File::label() const {
  return state_->label;
}
std::span<const std::byte> File::bytes() const {
  return state_->bytes;
}
std::uint32_t File::version() const {
  return state_->version;
}
const std::vector<std::pair<std::string_view, MetadataValue>>& File::metadata() const {
  return state_->metadata;
}
const std::vector<TensorRecord>& File::tensors() const {
  return state_->tensors;
}

const MetadataValue* File::find(std::string_view key) const {
  const auto found = state_->keys.find(key);
  return found == state_->keys.end() ? nullptr : &state_->metadata[found->second].second;
}

const TensorRecord* File::tensor(std::string_view name) const {
  const auto found = state_->names.find(name);
  return found == state_->names.end() ? nullptr : &state_->tensors[found->second];
}

}  // namespace tern::gguf
