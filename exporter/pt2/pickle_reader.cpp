#include "exporter/pt2/pickle_reader.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <bit>
#include <map>

#include "exporter/pt2/pickle_opcodes.h"
#include "exporter/pt2/text.h"
#include "exporter/pt2/zip_bytes.h"
#include "schema/work.h"

namespace tern::pt2 {
namespace {

using PickleValueKind = PickleValue::Kind;
using Code = PickleOpcode;

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> pickle, const std::string& label, std::uint64_t base, std::size_t max_bytes)
      : pickle_(pickle), label_(label), base_(base), max_size_(max_bytes) {}

  PickleValues run() {
    if (pickle_.size() > max_size_)
      fail_at(0, ErrorCode::unsupported,
              fmt::format("the pickle has {} bytes; at most {} are supported", pickle_.size(), max_size_));
    while (!is_stopped_) step();
    if (position_ != pickle_.size())
      fail_at(position_, ErrorCode::bad_file, "there are bytes after the end of the pickle");
    return std::move(values_);
  }

 private:
  [[noreturn]] void fail_at(std::size_t offset, ErrorCode code, const std::string& problem) const {
    fail(code, fmt::format("{}: offset {}: {}", label_, base_ + offset, problem));
  }
  /// Names the opcode.
  [[noreturn]] void bad(const std::string& problem) const {
    const auto name = pickle_opcode_name(std::to_integer<std::uint8_t>(pickle_[opcode_at_]));
    fail_at(opcode_at_, ErrorCode::bad_file, fmt::format("pickle opcode {}: {}", name, problem));
  }

  // Bytes
  std::span<const std::byte> read_bytes(std::uint64_t size) {
    if (size > pickle_.size() - position_)
      fail_at(position_, ErrorCode::bad_file,
              fmt::format("the pickle is cut short: {} bytes are needed and {} are left", size,
                          pickle_.size() - position_));
    const auto bytes = pickle_.subspan(position_, static_cast<std::size_t>(size));
    position_ += static_cast<std::size_t>(size);
    return bytes;
  }
  template <class T>
  T number() {
    return zip::field<T>(read_bytes(sizeof(T)), 0);
  }
  std::string_view text(std::uint64_t size) {
    const auto bytes = read_bytes(size);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!is_utf8(text)) bad("the text is not valid UTF-8");
    return text;
  }
  std::string_view line() {
    const std::size_t start = position_;
    while (read_bytes(1)[0] != std::byte{'\n'}) {
    }
    const std::string_view text(reinterpret_cast<const char*>(pickle_.data() + start), position_ - start - 1);
    if (!is_utf8(text)) bad("the name is not valid UTF-8");
    return text;
  }

  // The stack: values, and the positions of marks.
  PickleId add_value(PickleValue value) {
    charge_work(sizeof(PickleValue));
    value.offset = static_cast<std::uint32_t>(opcode_at_);
    values_.values.push_back(std::move(value));
    return static_cast<PickleId>(values_.values.size() - 1);
  }
  void push(PickleValue value) { stack_.push_back(add_value(std::move(value))); }
  void push_number(PickleValueKind kind, std::int64_t integer) {
    PickleValue v;
    v.kind = kind;
    v.integer = integer;
    push(std::move(v));
  }
  void push_text(std::string_view text) {
    PickleValue v;
    v.kind = PickleValueKind::text;
    v.text = text;
    push(std::move(v));
  }
  void push_items(PickleValueKind kind, std::vector<PickleId> items) {
    PickleValue v;
    v.kind = kind;
    v.items = std::move(items);
    push(std::move(v));
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleId pop() {
    if (stack_.size() <= floor()) bad("the stack has too few values");
    const PickleId top = stack_.back();
    stack_.pop_back();
    return top;
  }
  PickleId top() const {
    if (stack_.size() <= floor()) bad("the stack has too few values");
    return stack_.back();
  }
  std::vector<PickleId> pop_several(std::size_t count) {
    if (stack_.size() - floor() < count) bad("the stack has too few values");
    std::vector<PickleId> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) bad("the stack has no mark");
    std::vector<PickleId> items = pop_several(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }
  PickleValue& top_of_kind(PickleValueKind kind) {
    PickleValue& v = values_.values[top()];
    if (v.kind != kind) bad(fmt::format("the stack holds {}, not {}", name_of(v.kind), name_of(kind)));
    return v;
  }

  // The memo
  void remember(std::uint32_t key) {
    if (!memo_.emplace(key, top()).second) bad(fmt::format("entry {} of the memo is written twice", key));
  }
  void recall(std::uint32_t key) {
    const auto it = memo_.find(key);
    if (it == memo_.end()) bad(fmt::format("the memo has no entry {}", key));
    stack_.push_back(it->second);
  }

  // Names and calls
  void push_global(std::string_view module, std::string_view name) {
    const std::string full = fmt::format("{} {}", module, name);
    PickleValue v;
    v.kind = PickleValueKind::global;
    v.global = pickle_global(full, &v.text);
    if (v.global == PickleGlobal::refused)
      fail_at(opcode_at_, ErrorCode::unsupported,
              fmt::format("pickle opcode {}: {} is not a supported name; Tern reads the tensors of PyTorch and "
                          "torchao, and never runs code from a file",
                          pickle_opcode_name(std::to_integer<std::uint8_t>(pickle_[opcode_at_])),
                          quote(fmt::format("{}.{}", module, name))));
    push(std::move(v));
  }
  void call(PickleValueKind kind, const char* arguments_are) {
    const PickleId arguments = pop(), callee = pop();
    if (values_[callee].kind != PickleValueKind::global)
      bad(fmt::format("{} is called instead of a name", name_of(values_[callee].kind)));
    if (values_[arguments].kind != PickleValueKind::tuple)
      bad(fmt::format("{} is {}, not a tuple", arguments_are, name_of(values_[arguments].kind)));
    push_items(kind, {callee, arguments});
  }
  void build() {
    const PickleId state = pop();
    PickleValue& object = values_.values[top()];
    if (object.kind != PickleValueKind::call && object.kind != PickleValueKind::object)
      bad(fmt::format("state is given to {}", name_of(object.kind)));
    if (object.state != kNoPickleValue) bad("state is given twice");
    object.state = state;
  }
  void set_items(const std::vector<PickleId>& items) {
    if (items.size() % 2 != 0) bad("a key has no value");
    PickleValue& target = values_.values[top()];
    // Of an OrderedDict, the call that makes an empty one.
    if (target.kind != PickleValueKind::dict && target.kind != PickleValueKind::call)
      bad(fmt::format("items are put into {}", name_of(target.kind)));
    if (target.kind == PickleValueKind::call && values_[target.items[0]].global != PickleGlobal::ordered_dict)
      bad("items are put into a value that is not a dict");
    if (target.kind == PickleValueKind::call)
      target = {PickleValueKind::dict, {}, kNoPickleValue, target.offset, 0, 0, {}, {}};
    target.items.insert(target.items.end(), items.begin(), items.end());
  }
  void append(const std::vector<PickleId>& items) {
    PickleValue& list = top_of_kind(PickleValueKind::list);
    list.items.insert(list.items.end(), items.begin(), items.end());
  }

  void step();

  std::span<const std::byte> pickle_;
  const std::string& label_;
  std::uint64_t base_;
  std::size_t max_size_;
  std::size_t position_ = 0, opcode_at_ = 0;
  bool is_stopped_ = false;
  PickleValues values_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::map<std::uint32_t, PickleId> memo_;
};

void PickleMachine::step() {
  opcode_at_ = position_;
  const auto code = std::to_integer<std::uint8_t>(read_bytes(1)[0]);
  switch (static_cast<Code>(code)) {
    case Code::proto:
      if (opcode_at_ != 0) bad("it is not at the start");
      if (const auto protocol = number<std::uint8_t>(); protocol < 2 || protocol > 5)
        bad(fmt::format("protocol {} is outside 2 to 5", protocol));
      return;
    case Code::frame:
      if (const auto size = number<std::uint64_t>(); size > pickle_.size() - position_)
        bad(fmt::format("a frame of {} bytes goes past the end", size));
      return;
    case Code::stop:
      values_.root = pop();
      if (!stack_.empty() || !marks_.empty()) bad("values are left on the stack");
      is_stopped_ = true;
      return;
    case Code::mark: marks_.push_back(stack_.size()); return;
    case Code::pop: pop(); return;
    case Code::pop_mark: pop_to_mark(); return;
    case Code::none: return push({});
    case Code::newtrue: return push_number(PickleValueKind::boolean, 1);
    case Code::newfalse: return push_number(PickleValueKind::boolean, 0);
    case Code::binint: return push_number(PickleValueKind::integer, static_cast<std::int32_t>(number<std::uint32_t>()));
    case Code::binint1: return push_number(PickleValueKind::integer, number<std::uint8_t>());
    case Code::binint2: return push_number(PickleValueKind::integer, number<std::uint16_t>());
    case Code::long1: {
      const auto size = number<std::uint8_t>();
      if (size > 8) bad(fmt::format("an integer has {} bytes; at most 8 are supported", size));
      const auto bytes = read_bytes(size);
      std::uint64_t value = size != 0 && (bytes[size - 1] & std::byte{0x80}) != std::byte{0} ? ~std::uint64_t{0} : 0;
      for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
      return push_number(PickleValueKind::integer, static_cast<std::int64_t>(value));
    }
    case Code::binfloat: {
      PickleValue v;
      v.kind = PickleValueKind::real;
      std::uint64_t bits = 0;  // the only number that is stored with the highest byte first
      for (const std::byte b : read_bytes(8)) bits = bits << 8 | std::to_integer<std::uint64_t>(b);
      v.real = std::bit_cast<double>(bits);
      return push(std::move(v));
    }
    case Code::short_binunicode: return push_text(text(number<std::uint8_t>()));
    case Code::binunicode: return push_text(text(number<std::uint32_t>()));
    case Code::binunicode8: return push_text(text(number<std::uint64_t>()));
    case Code::empty_tuple: return push_items(PickleValueKind::tuple, {});
    case Code::tuple1: return push_items(PickleValueKind::tuple, pop_several(1));
    case Code::tuple2: return push_items(PickleValueKind::tuple, pop_several(2));
    case Code::tuple3: return push_items(PickleValueKind::tuple, pop_several(3));
    case Code::tuple: return push_items(PickleValueKind::tuple, pop_to_mark());
    case Code::empty_list: return push_items(PickleValueKind::list, {});
    case Code::append: return append({pop()});
    case Code::appends: return append(pop_to_mark());
    case Code::empty_dict: return push_items(PickleValueKind::dict, {});
    case Code::setitem: return set_items(pop_several(2));
    case Code::setitems: return set_items(pop_to_mark());
    case Code::binput: return remember(number<std::uint8_t>());
    case Code::long_binput: return remember(number<std::uint32_t>());
    case Code::memoize: return remember(static_cast<std::uint32_t>(memo_.size()));
    case Code::binget: return recall(number<std::uint8_t>());
    case Code::long_binget: return recall(number<std::uint32_t>());
    case Code::global: {
      const std::string_view module = line();
      return push_global(module, line());
    }
    case Code::stack_global: {
      const std::vector<PickleId> names = pop_several(2);
      if (values_[names[0]].kind != PickleValueKind::text || values_[names[1]].kind != PickleValueKind::text)
        bad("a name is not a string");
      return push_global(values_[names[0]].text, values_[names[1]].text);
    }
    case Code::reduce: return call(PickleValueKind::call, "the list of arguments");
    case Code::newobj: return call(PickleValueKind::object, "the list of arguments");
    case Code::build: return build();
    case Code::binpersid: return push_items(PickleValueKind::persistent, {pop()});
    case Code::dup:
    case Code::newobj_ex: break;
  }
  const std::string_view name = pickle_opcode_name(code);
  fail_at(opcode_at_, name.empty() ? ErrorCode::bad_file : ErrorCode::unsupported,
          name.empty() ? fmt::format("byte 0x{:02x} is not a pickle opcode", code)
                       : fmt::format("pickle opcode {} is not supported: PyTorch's tensors do not need it", name));
}

}  // namespace

const char* name_of(PickleValue::Kind kind) {
  constexpr const char* kKindNames[] = {"None",       "a boolean",
                                        "an integer", "a number",
                                        "a text",     "a tuple",
                                        "a list",     "a dict",
                                        "a name",     "the result of a call",
                                        "an object",  "a reference to stored data"};
  return kKindNames[static_cast<std::size_t>(kind)];
}

PickleValues read_pickle(std::span<const std::byte> pickle, const std::string& label, std::uint64_t base,
                         std::size_t max_bytes) {
  return PickleMachine(pickle, label, base, max_bytes).run();
}

}  // namespace tern::pt2
