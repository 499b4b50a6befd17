// Copies between strided views.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "kernels/portable/axes.h"
#include "kernels/portable/movement.h"
#include "kernels/portable/turned.h"
#include "kernels/portable/wide.h"

namespace tern::portable {

DType carrier(DType t) {
  switch (element_size(t)) {
    case 1: return DType::u8;
    case 2: return DType::u16;
    case 4: return DType::u32;
    case 8: return DType::u64;
    case 16: return DType::c128;
    default: fail(ErrorCode::internal, "no element to copy");
  }
}

TensorView slice(const TensorView& v, int axis, std::int64_t start, std::int64_t length, std::int64_t step,
                 std::int64_t* offset) {
  TensorView p = v;
  const auto a = static_cast<std::size_t>(axis);
  *offset += start * v.stride(axis);
  p.sizes[a] = length;
  p.strides[a] = v.stride(axis) * step;
  return p;
}

namespace {

constexpr std::int64_t kCopyBytes = 16;  // bytes of an access
constexpr std::size_t kOfLaunch = 8;     // copies

std::vector<Axis> axes_of(const TensorView& v) {
  return collapse(v.shape(), {v.strides.data(), static_cast<std::size_t>(v.rank)});
}

/// True if every `each` neighbours are adjacent, at offsets divisible by `each`.
bool has_pieces(const CopyEnd& end, std::int64_t each) {
  const std::vector<Axis> axes = axes_of(end.view);
  if (axes.empty() || axes.back().stride != 1 || axes.back().size % each != 0 || end.offset % each != 0) return false;
  return std::all_of(axes.begin(), axes.end() - 1, [&](const Axis& a) { return a.stride % each == 0; });
}

/// Number of elements moved together by an item.
std::int64_t piece_of(const Target& target, std::span<const Copy> copies) {
  if (!target.groups) return 1;
  std::int64_t count = 0;
  for (const Copy& c : copies) count += c.target.view.numel();
  std::int64_t each = enough_items(count, kCopyBytes / element_size(copies[0].target.view.dtype));
  const auto fits = [&](const Copy& c) { return has_pieces(c.source, each) && has_pieces(c.target, each); };
  while (each > 1 && !std::ranges::all_of(copies, fits)) each /= 2;
  return each;
}

/// at_NAME(i, &p): offset of piece i.
void declare_view(KernelSource& s, const std::string& name, const TensorView& v, std::int64_t each) {
  if (each == 1) return s.view(name, v);
  std::vector<std::int64_t> sizes, strides;
  for (const Axis& a : axes_of(v)) {
    sizes.push_back(a.size);
    strides.push_back(a.stride);
  }
  sizes.back() /= each;
  strides.back() = each;
  s.view(name, sizes, strides);
}

/// The statement moving piece `i`; offsets and views have `number` in their names.
std::string declare_copy(KernelSource& s, const Copy& c, const std::string& number, std::int64_t each, const char* i) {
  s.parameter("from_offset" + number, c.source.offset);
  s.parameter("to_offset" + number, c.target.offset);
  declare_view(s, "from" + number, c.source.view, each);
  declare_view(s, "to" + number, c.target.view, each);
  return fmt::format("MOVE(to + p.to_offset{0} + at_to{0}({1}, &p), from{0} + p.from_offset{0} + at_from{0}({1}, &p))",
                     number, i);
}

void define_piece(KernelSource& s, DType t, std::int64_t each) {
  const std::int64_t bytes = each * element_size(t);
  s.define("EACH", each);
  if (each == 1) return;
  s.type("ELEMENT", t);
  s.define("PIECE_BYTES", bytes);
  s.define("PIECE", bytes == 16 ? "uint4" : bytes == 8 ? "uint2" : bytes == 4 ? "tern_u32" : "tern_u16");
}

std::optional<Turned> turned_copy(const Launches& list, const CopyEnd& from, const CopyEnd& to) {
  const bool neighbours = to.view.rank > 0 && to.view.stride(to.view.rank - 1) == 1;
  return neighbours ? Turned::choose(list.target(), to.view, {&from.view, 1}) : std::nullopt;
}

/// Adds a single launch with the items of all copies.
void add_joined(Launches& list, std::span<const Copy> copies) {
  const DType t = carrier(copies[0].target.view.dtype);
  const std::int64_t each = piece_of(list.target(), copies);
  Launch k("copy");
  k.output("to", copies[0].target.argument, t);
  define_piece(k.source, t, each);
  std::string text;
  std::int64_t items = 0;
  for (std::size_t n = 0; n < copies.size(); ++n) {
    const std::string number = std::to_string(n);
    k.input("from" + number, copies[n].source.argument, t);
    k.parameter("begin" + number, items);
    items += copies[n].target.view.numel() / each;
    k.parameter("end" + number, items);
    text += fmt::format("{}if (i < p.end{}) {{ const tern_i64 item = i - p.begin{}; {} }}", n == 0 ? "" : " else ",
                        number, number, declare_copy(k.source, copies[n], number, each, "item"));
  }
  k.source.define("COPIES", text);
  k.parameter("count", items);
  list.add(std::move(k), items);
}

}  // namespace

void add_copy(Launches& list, const CopyEnd& from, const CopyEnd& to, std::optional<std::uint64_t> scratch) {
  const DType t = carrier(to.view.dtype);
  const Copy one{from, to};
  std::optional<Turned> turned = turned_copy(list, from, to);
  const std::int64_t each = turned ? 1 : piece_of(list.target(), {&one, 1});
  Launch k(turned ? "turned" : "copy");
  k.input("from", from.argument, t);
  scratch ? k.scratch("to", *scratch, t, true) : k.output("to", to.argument, t);
  const std::string text = declare_copy(k.source, one, "", each, "i");
  const std::int64_t items = to.view.numel() / each;
  k.parameter("count", items);
  if (turned) {
    turned->tile(k, "from", t, "p.from_offset + ");
    k.source.define("WRITE", "to[p.to_offset + at_to(i, &p)] = from_tile[at];");
    return turned->add(list, std::move(k));
  }
  define_piece(k.source, t, each);
  k.source.define("COPIES", text);
  list.add(std::move(k), items);
}

void add_copies(Launches& list, std::span<const Copy> copies) {
  std::vector<Copy> joined;
  const auto add = [&] {
    if (joined.size() == 1) add_copy(list, joined[0].source, joined[0].target);
    if (joined.size() > 1) add_joined(list, joined);
    joined.clear();
  };
  for (const Copy& c : copies) {
    if (c.target.view.numel() == 0) continue;
    if (!list.target().groups || turned_copy(list, c.source, c.target)) {
      add_copy(list, c.source, c.target);
      continue;
    }
    joined.push_back(c);
    if (joined.size() == kOfLaunch) add();
  }
  add();
}

void copy(Launcher& launcher, const TensorView& from, const TensorView& to) {
  const std::int64_t per = elements_per_byte(to.dtype);
  const std::int64_t bytes = (to.numel() + per - 1) / per * element_size(to.dtype);
  if (bytes == 0) return;
  if (from.contiguous() && to.contiguous()) return launcher.copy(to.data, from.data, static_cast<std::uint64_t>(bytes));
  if (per != 1) fail(ErrorCode::unsupported, "packed pairs of elements can only be copied whole");
  TensorView views[] = {from, to};
  KernelCall call;
  call.launcher = &launcher;
  call.in = {views, 1};
  call.out = {views + 1, 1};
  Launches list(call);
  add_copy(list, {0, from}, {0, to});
  list.run(call);
}

}  // namespace tern::portable
