#include "fuzz/run/mutate.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "fuzz/run/aligned.h"
#include "generated_fuzz/archive_generated.h"
#include "loader/prologue.h"
#include "loader/read_archive.h"

namespace tern::fuzz {
namespace {

namespace fb = archive;

/// Lists every mutable field; the mutator chooses a field afterwards.
class Fields {
 public:
  explicit Fields(Choices& c) : c_(c) {}

  void change_one() {
    if (!changes_.empty()) changes_[c_.index(changes_.size())]();
  }

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T& field) {
    changes_.push_back([this, &field] { field = changed(field); });
  }
  void operator()(std::string& s) {
    changes_.push_back([this, &s] {
      s = c_.pick<std::string>({"", "a\nb", "\x1b[31m", s + s, "\xff", std::string(300, 'x')});
    });
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    if (!list.empty()) changes_.push_back([this, &list] { change_list(list); });
    for (T& element : list) (*this)(element);
  }
  template <class T>
  void operator()(std::unique_ptr<T>& table) {
    if (table) fields(*table);
  }

  // Structs are changed through accessors.
#define TERN_FUZZ_ACCESS(name) changes_.push_back([this, &s] { s.mutate_##name(changed(s.name())); })
  void operator()(fb::Expression& s) {
    TERN_FUZZ_ACCESS(value), TERN_FUZZ_ACCESS(a), TERN_FUZZ_ACCESS(b), TERN_FUZZ_ACCESS(c), TERN_FUZZ_ACCESS(op);
  }
  void operator()(fb::Origin& s) {
    TERN_FUZZ_ACCESS(op), TERN_FUZZ_ACCESS(module_), TERN_FUZZ_ACCESS(source);
  }
  void operator()(fb::Value& s) {
    TERN_FUZZ_ACCESS(type), TERN_FUZZ_ACCESS(name);
  }
  void operator()(fb::Metadata& s) {
    TERN_FUZZ_ACCESS(key), TERN_FUZZ_ACCESS(value);
  }
  void operator()(fb::Instruction& s) {
    TERN_FUZZ_ACCESS(integer), TERN_FUZZ_ACCESS(number), TERN_FUZZ_ACCESS(imaginary), TERN_FUZZ_ACCESS(op);
    TERN_FUZZ_ACCESS(a), TERN_FUZZ_ACCESS(b), TERN_FUZZ_ACCESS(c);
    TERN_FUZZ_ACCESS(dtype);
  }
#undef TERN_FUZZ_ACCESS

 private:
  void fields(fb::SymbolT& t) {
    each(t.name, t.min, t.max);
  }
  void fields(fb::SegmentT& t) {
    each(t.offset, t.stored_size, t.size, t.alignment, t.codec, t.frame_size, t.frames);
  }
  void fields(fb::StorageT& t) {
    each(t.size, t.segment);
  }
  void fields(fb::TypeT& t) {
    each(t.dtype, t.shape, t.block_columns, t.scale_layout, t.block_rows, t.scale_dtype, t.zero_point_rule,
         t.zero_point_dtype, t.outer_scale, t.nonzeros, t.element_bits, t.super_columns);
  }
  void fields(fb::StateT& t) {
    each(t.name, t.kind, t.type, t.storage, t.strides, t.offset, t.is_mutable, t.persistent, t.tied);
  }
  void fields(fb::InputT& t) {
    each(t.kind, t.value, t.state, t.name, t.constant_text);
  }
  void fields(fb::OutputT& t) {
    each(t.kind, t.value, t.name);
  }
  void fields(fb::WriteBackT& t) {
    each(t.target, t.index, t.value);
  }
  void fields(fb::AttributeT& t) {
    each(t.key, t.kind, t.sizes, t.numbers, t.text);
  }
  void fields(fb::AnnotationT& t) {
    each(t.key, t.kind, t.integer, t.number, t.text);
  }
  void fields(fb::NodeT& t) {
    each(t.op, t.version, t.inputs, t.outputs, t.attributes, t.functions, t.code, t.origin, t.annotations);
  }
  void fields(fb::FunctionT& t) {
    each(t.name, t.entry, t.values, t.inputs, t.outputs, t.writebacks, t.nodes, t.in_tree_text, t.out_tree_text);
  }
  void fields(fb::PackingT& t) {
    each(t.storage, t.packed, t.key);
  }
  void fields(fb::KernelT& t) {
    each(t.name, t.target_kind, t.text_low, t.text_high, t.storage, t.target);
  }
  void fields(fb::ChoiceT& t) {
    each(t.function, t.node, t.algorithm);
  }
  void fields(fb::TuningT& t) {
    each(t.processor, t.threads, t.choices);
  }
  template <class... T>
  void each(T&... field) {
    ((*this)(field), ...);
  }

  template <class T>
  T changed(T was) {
    if constexpr (std::is_same_v<T, bool>) {
      return !was;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(changed(static_cast<std::underlying_type_t<T>>(was)));
    } else if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      return c_.pick<T>({0, -1, Limits::max(), Limits::lowest(), Limits::denorm_min(), Limits::quiet_NaN(),
                         Limits::infinity(), was * 2, -was});
    } else {
      using Limits = std::numeric_limits<T>;
      const auto w = static_cast<std::uint64_t>(was);
      const auto small = static_cast<std::uint64_t>(c_.between(0, 130));
      return static_cast<T>(c_.pick<std::uint64_t>(
          {w + 1, w - 1, w + 2, w - 2, 0, 1, 2, ~std::uint64_t{0}, w * 2, w * 2 + 1, w ^ 1, small % 12, small,
           static_cast<std::uint64_t>(Limits::max()), static_cast<std::uint64_t>(Limits::min()), 255, 65535,
           std::uint64_t{1} << 31, std::uint64_t{1} << 62}));
    }
  }

  template <class T>
  static T copy(const T& v) {
    return v;
  }
  template <class T>
  static std::unique_ptr<T> copy(const std::unique_ptr<T>& v) {
    return v ? std::make_unique<T>(*v) : nullptr;
  }
  template <class T>
  void change_list(std::vector<T>& list) {
    const std::size_t at = c_.index(list.size()), other = c_.index(list.size());
    switch (c_.between(0, 4)) {
      case 0: list.erase(list.begin() + static_cast<std::ptrdiff_t>(at)); return;
      case 1: {
        T again = copy(list[other]);
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), std::move(again));
        return;
      }
      case 2: list.push_back(copy(list[at])); return;
      case 3: list[at] = copy(list[other]); return;
      default: std::swap(list[at], list[other]); return;
    }
  }

  Choices& c_;
  std::vector<std::function<void()>> changes_;
};

/// Chooses mostly functions: programs differ there.
void change(fb::IndexT& index, Choices& c) {
  Fields f(c);
  switch (c.between(0, 19)) {
    case 0: f(index.symbols); break;
    case 1: f(index.segments); break;
    case 2: f(index.storages); break;
    case 3:
    case 4: f(index.types); break;
    case 5:
    case 6: f(index.states); break;
    case 7:
    case 8: f(index.expressions); break;
    case 9: f(index.packings), f(index.tunings), f(index.kernels), f(index.metadata), f(index.origins); break;
    case 10: f(index.texts); break;
    default: f(index.functions);
  }
  f.change_one();
}

struct SegmentRange {
  std::uint64_t offset, size;
};

std::vector<SegmentRange> segments_of(const fb::IndexT& index) {
  std::vector<SegmentRange> segments;
  for (const auto& s : index.segments) {
    if (s->stored_size > 0) segments.push_back({s->offset, s->stored_size});
  }
  return segments;
}

/// Gives a run of a weight's bytes, among them scales, zero points and packed elements, extreme values.
void change_bytes(std::span<std::byte> segment, Choices& c) {
  const auto word = c.pick<std::uint32_t>({0, ~0u, 0x7f800000, 0xff800000, 0x7fc00000, 0x80000000, 0x7fffffff, 1,
                                           0x7f7fffff, 0x7f7f7f7f, 0x80808080, static_cast<std::uint32_t>(c.word())});
  const std::size_t begin = c.index(segment.size()) / 4 * 4;
  const std::size_t length = c.pick<std::size_t>({1, 2, 4, 8, 64, segment.size()});
  for (std::size_t i = begin; i < segment.size() && i - begin < length; ++i)
    segment[i] = static_cast<std::byte>(word >> (8 * (i % 4)));
}

}  // namespace

std::span<const std::byte> index_of(std::span<const std::byte> archive) {
  if (archive.size() < kPrologueSize) return {};
  const Prologue p = decode_prologue(archive.first<kPrologueSize>());
  if (p.index_offset < kPrologueSize || p.index_offset > archive.size() ||
      p.index_size != archive.size() - p.index_offset)
    return {};
  return archive.subspan(p.index_offset);
}

bool make_hash_right(std::span<std::byte> archive) {
  const auto index = index_of(archive);
  if (index.empty()) return false;
  const Hash128 hash = index_hash(std::span<const std::byte>(archive).first<kPrologueSize>(), index);
  std::memcpy(archive.data() + PrologueField::hash, &hash, sizeof hash);
  return true;
}

std::vector<std::byte> mutate_archive(std::span<const std::byte> given, Choices& c) {
  Aligned copy(given);
  if (!make_hash_right(copy.span())) return {};
  const std::span<const std::byte> archive = copy.span();
  const auto index = index_of(archive);
  // Unlike FlatBuffers' verifier, the reader also checks the alignment of lists. Stops at the first broken rule.
  Findings findings(Findings::Mode::collect);
  if (read_archive(FileBytes::borrow(archive), findings).stage == ReadStage::container || findings.broken() != 0)
    return {};
  std::unique_ptr<fb::IndexT> tables = fb::UnPackIndex(index.data());
  const std::vector<SegmentRange> segments = segments_of(*tables);
  const auto count = c.pick<std::int64_t>({1, 1, 1, 2, 3, 0});
  for (std::int64_t i = 0; i < count; ++i) change(*tables, c);
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishIndexBuffer(builder, fb::Index::Pack(builder, tables.get()));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  Prologue p = decode_prologue(archive.first<kPrologueSize>());
  p.index_size = bytes.size();
  p.hash = index_hash(encode(p), bytes);
  const auto head = encode(p);
  std::vector<std::byte> made(head.begin(), head.end());
  made.insert(made.end(), archive.begin() + kPrologueSize,
              archive.begin() + static_cast<std::ptrdiff_t>(p.index_offset));
  made.insert(made.end(), bytes.begin(), bytes.end());
  if (!segments.empty() && (count == 0 || c.chance(30))) {
    const SegmentRange e = segments[c.index(segments.size())];
    change_bytes(std::span(made).subspan(e.offset, e.size), c);
  }
  return made;
}

}  // namespace tern::fuzz
