#include "exporter/pt2/pickled_tensor.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/pt2/pickle_reader.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

using Kind = PickleValue::Kind;
using G = PickleGlobal;
using Attribute = PickledAttribute;

// A value that is shared counts each time that it is met, so that a few values that name each other cannot become many.
constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxVisits = 4096;
constexpr std::size_t kMaxRank = 64;
constexpr std::size_t kMaxTextBytes = 1024;
// A file may have many parameters with the same pickle, and all their inner tensors become states with names.
constexpr std::size_t kMaxTensors = 32;
constexpr std::size_t kMaxInnerNameBytes = 64;

class Interpreter {
 public:
  Interpreter(const PickleValues& values, const SavedObject& object, const std::string& label)
      : values_(values), object_(object), label_(label) {}

  PickledTensor tensor(PickleId id);

 private:
  [[noreturn]] void bad(const PickleValue& at, const std::string& what, ErrorCode code = ErrorCode::bad_file) const {
    fail(code, fmt::format("{}: offset {}: {}", label_, object_.pickle.offset + at.offset, what));
  }
  /// Counts a value that is looked into.
  struct Depth {
    explicit Depth(Interpreter& i, const PickleValue& at) : depth(i.depth_) {
      if (++depth > kMaxDepth) i.bad(at, fmt::format("values are nested more than {} deep", kMaxDepth));
      if (++i.visits_ > kMaxVisits) i.bad(at, fmt::format("the pickle has more than {} values", kMaxVisits));
    }
    ~Depth() { --depth; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    int& depth;
  };

  const PickleValue& value(PickleId id, Kind kind, const char* role) const {
    const PickleValue& v = values_[id];
    if (v.kind != kind) bad(v, fmt::format("{} is {}, not {}", role, name_of(v.kind), name_of(kind)));
    return v;
  }
  std::string text(PickleId id, const char* role) const {
    const PickleValue& v = value(id, Kind::text, role);
    if (v.text.size() > kMaxTextBytes)
      bad(v, fmt::format("{} has {} bytes, and at most {} are read", role, v.text.size(), kMaxTextBytes));
    return std::string(v.text);
  }
  std::int64_t natural(PickleId id, const char* role) const {
    const PickleValue& v = value(id, Kind::integer, role);
    if (v.integer < 0) bad(v, fmt::format("{} is negative", role));
    return v.integer;
  }
  G callee(const PickleValue& v) const { return values_[v.items[0]].global; }
  const PickleValue& arguments(const PickleValue& v, std::size_t least, std::size_t most) const {
    const PickleValue& a = values_[v.items[1]];
    if (a.items.size() < least || a.items.size() > most)
      bad(v, fmt::format("{} has {} arguments, not {} to {}", quoted(values_[v.items[0]].text), a.items.size(), least,
                         most));
    return a;
  }
  /// A tuple, a list, or the torch.Size of one.
  const PickleValue& sequence(PickleId id, const char* role) const {
    const PickleValue* v = &values_[id];
    if (v->kind == Kind::call && callee(*v) == G::size) v = &values_[arguments(*v, 1, 1).items[0]];
    if (v->kind != Kind::tuple && v->kind != Kind::list) bad(*v, fmt::format("{} is {}", role, name_of(v->kind)));
    return *v;
  }
  std::vector<std::int64_t> naturals(PickleId id, const char* role) const {
    const PickleValue& v = sequence(id, role);
    if (v.items.size() > kMaxRank) bad(v, fmt::format("{} has {} numbers", role, v.items.size()));
    std::vector<std::int64_t> result;
    for (const PickleId item : v.items) result.push_back(natural(item, role));
    return result;
  }
  std::string_view dtype_name(PickleId id) const {
    const PickleValue& v = value(id, Kind::global, "the dtype");
    if (v.global != G::dtype) bad(v, fmt::format("{} is no dtype", quoted(v.text)));
    return v.text.substr(v.text.find(' ') + 1);
  }
  DType dtype(PickleId id) const {
    const DType t = dtype_from_name(dtype_name(id));
    if (t == DType::invalid)
      bad(values_[id], fmt::format("tensors of {} are not supported", dtype_name(id)), ErrorCode::unsupported);
    return t;
  }

  PickledTensor plain(const PickleValue& v, bool typed);
  PickledTensor subclass(const PickleValue& v);
  PickledTensor wrapper(PickleId type, PickleId arguments);
  void state(PickledTensor& tensor, PickleId id);
  void place(PickledTensor& tensor, const PickleValue& v, PickleId persistent, bool typed);
  void check_inside(const PickledTensor& tensor, const PickleValue& v, std::uint64_t bytes) const;
  bool is_tensor(const PickleValue& v) const {
    if (v.kind != Kind::call) return false;
    switch (callee(v)) {
      case G::rebuild_from_type:
      case G::rebuild_tensor:
      case G::rebuild_tensor_of_type:
      case G::rebuild_parameter:
      case G::rebuild_parameter_with_state:
      case G::rebuild_wrapper: return true;
      default: return false;
    }
  }
  Attribute attribute(PickleId id);
  Attribute named(const PickleValue& v);
  std::vector<PickledField> fields(PickleId id);

  const PickleValues& values_;
  const SavedObject& object_;
  const std::string& label_;
  int depth_ = 0;
  std::size_t visits_ = 0;
  std::size_t tensors_ = 0;
};

PickledTensor Interpreter::tensor(PickleId id) {
  const PickleValue& v = values_[id];
  const Depth count(*this, v);
  if (++tensors_ > kMaxTensors) bad(v, fmt::format("the pickle has more than {} tensors", kMaxTensors));
  if (!is_tensor(v))
    bad(v, fmt::format("a tensor is expected, and there is {}", name_of(v.kind)), ErrorCode::unsupported);
  switch (callee(v)) {
    case G::rebuild_from_type: return subclass(v);
    case G::rebuild_wrapper: return wrapper(arguments(v, 8, 8).items[0], v.items[1]);
    case G::rebuild_parameter: return tensor(arguments(v, 3, 3).items[0]);
    case G::rebuild_parameter_with_state: return tensor(arguments(v, 4, 4).items[0]);
    default: return plain(v, callee(v) == G::rebuild_tensor_of_type);
  }
}

// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks, metadata); v3 has the dtype before
// metadata.
PickledTensor Interpreter::plain(const PickleValue& v, bool typed) {
  const std::size_t least = typed ? 7 : 6;
  const PickleValue& a = arguments(v, least, least + 1);
  if (a.items.size() > least) {
    const PickleValue& metadata = values_[a.items[least]];
    if (metadata.kind != Kind::none && !metadata.items.empty())
      bad(metadata, "tensors that are conjugated or negated lazily are not supported", ErrorCode::unsupported);
  }
  PickledTensor t;
  t.offset = natural(a.items[1], "the storage offset");
  t.sizes = naturals(a.items[2], "the list of sizes");
  t.strides = naturals(a.items[3], "the list of strides");
  if (t.sizes.size() != t.strides.size()) bad(v, "there are not as many strides as sizes");
  if (typed) t.dtype = dtype(a.items[6]);
  if (t.dtype == DType::f4_e2m1) t.dtype = DType::u8;  // PyTorch counts the bytes, and so do its programs
  place(t, v, a.items[0], typed);
  return t;
}

// ("storage", class of the storage, key, device, number of elements)
void Interpreter::place(PickledTensor& t, const PickleValue& v, PickleId id, bool typed) {
  const PickleValue& persistent = value(id, Kind::persistent, "the storage");
  const PickleValue& tuple = value(persistent.items[0], Kind::tuple, "the reference to stored data");
  if (tuple.items.size() != 5 || text(tuple.items[0], "the kind of stored data") != "storage")
    bad(tuple, "a reference to stored data is no storage", ErrorCode::unsupported);
  const PickleValue& type = value(tuple.items[1], Kind::global, "the class of the storage");
  if (type.global != G::storage) bad(type, fmt::format("{} is no storage", quoted(type.text)));
  const DType elements = storage_dtype(type.text);
  if (!typed && elements == DType::invalid) bad(type, "the dtype of the tensor is not given");
  if (!typed) t.dtype = elements;
  t.storage = text(tuple.items[2], "the key of the storage");
  const SavedPart* part = object_.storages.find(t.storage);
  if (part == nullptr) bad(tuple, fmt::format("there is no entry data/{}", quoted(t.storage)));
  std::int64_t bytes = 0;
  const std::int64_t count = natural(tuple.items[4], "the size of the storage");
  if (__builtin_mul_overflow(count, elements == DType::invalid ? 1 : element_size(elements), &bytes) ||
      static_cast<std::uint64_t>(bytes) != part->bytes.size())
    bad(tuple, fmt::format("the storage {} has {} elements of {}, and its entry has {} bytes", quoted(t.storage), count,
                           quoted(type.text), part->bytes.size()));
  check_inside(t, v, part->bytes.size());
}

void Interpreter::check_inside(const PickledTensor& t, const PickleValue& v, std::uint64_t bytes) const {
  std::int64_t last = t.offset, total = element_size(t.dtype);
  bool empty = false;
  for (std::size_t d = 0; d < t.sizes.size(); ++d) {
    if (t.sizes[d] == 0) {
      empty = true;
      continue;
    }
    std::int64_t step = 0;
    if (__builtin_mul_overflow(t.sizes[d] - 1, t.strides[d], &step) || __builtin_add_overflow(last, step, &last) ||
        __builtin_mul_overflow(total, t.sizes[d], &total))
      bad(v, "the tensor is larger than 2^63 bytes");
  }
  if (empty) return;
  std::int64_t reached = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, element_size(t.dtype), &reached))
    bad(v, "the tensor is larger than 2^63 bytes");
  if (static_cast<std::uint64_t>(reached) > bytes)
    bad(v, fmt::format("the tensor reaches {} bytes into the storage {}, which has {}", reached, quoted(t.storage),
                       bytes));
}

// _rebuild_from_type_v2(function, class, arguments, state)
PickledTensor Interpreter::subclass(const PickleValue& v) {
  const PickleValue& a = arguments(v, 4, 4);
  const PickleValue& function = value(a.items[0], Kind::global, "the function that rebuilds the tensor");
  if (function.global != G::rebuild_wrapper)
    bad(function, fmt::format("{} does not rebuild a tensor subclass", quoted(function.text)), ErrorCode::unsupported);
  const PickleValue& type = value(a.items[1], Kind::global, "the class of the tensor");
  PickledTensor t = wrapper(a.items[1], a.items[2]);
  if (t.class_name != type.text) bad(type, "the class of the tensor is given twice, and differs");
  state(t, a.items[3]);
  return t;
}

// (class, dtype, sizes, strides, offset, layout, device, requires_grad)
PickledTensor Interpreter::wrapper(PickleId type, PickleId arguments) {
  const PickleValue& a = value(arguments, Kind::tuple, "the list of arguments");
  if (a.items.size() != 8) bad(a, "a tensor subclass is rebuilt with 8 arguments");
  const PickleValue& name = value(a.items[0], Kind::global, "the class of the tensor");
  if (name.global != G::tensor_class || values_[type].text != name.text)
    bad(name, fmt::format("{} is no tensor class", quoted(name.text)));
  PickledTensor t;
  t.class_name = name.text;
  t.dtype = dtype(a.items[1]);
  t.sizes = naturals(a.items[2], "the list of sizes");
  t.strides = naturals(a.items[3], "the list of strides");
  if (t.sizes.size() != t.strides.size()) bad(a, "there are not as many strides as sizes");
  return t;
}

/// The tensor's __dict__, or a pair of it and of the slots.
void Interpreter::state(PickledTensor& t, PickleId id) {
  const PickleValue* v = &values_[id];
  if (v->kind == Kind::tuple && v->items.size() == 2) v = &values_[v->items[0]];
  if (v->kind != Kind::dict) bad(*v, fmt::format("the state of the tensor is {}, not a dict", name_of(v->kind)));
  for (std::size_t i = 0; i < v->items.size(); i += 2) {
    std::string name = text(v->items[i], "the name of an attribute");
    const PickleValue& item = values_[v->items[i + 1]];
    if (t.find(name) != nullptr || t.attribute(name) != nullptr)
      bad(item, fmt::format("the attribute {} occurs twice", quoted(name)));
    if (is_tensor(item)) {
      if (name.size() > kMaxInnerNameBytes)
        bad(item, fmt::format("the name of an inner tensor has {} bytes, and at most {} are read", name.size(),
                              kMaxInnerNameBytes));
      t.inner.push_back({std::move(name), tensor(v->items[i + 1])});
    } else {
      t.attributes.push_back({std::move(name), attribute(v->items[i + 1])});
    }
  }
}

Attribute Interpreter::attribute(PickleId id) {
  const PickleValue& v = values_[id];
  const Depth count(*this, v);
  Attribute a;
  switch (v.kind) {
    case Kind::none: return a;
    case Kind::boolean: a.kind = Attribute::Kind::boolean; break;
    case Kind::integer: a.kind = Attribute::Kind::integer; break;
    case Kind::real: a.kind = Attribute::Kind::real; break;
    case Kind::text:
      a.kind = Attribute::Kind::text;
      a.text = text(id, "an attribute");
      return a;
    case Kind::tuple:
    case Kind::list:
      a.kind = Attribute::Kind::list;
      for (const PickleId item : v.items) a.items.push_back(attribute(item));
      return a;
    case Kind::dict:
      a.kind = Attribute::Kind::record;
      a.fields = fields(id);
      return a;
    case Kind::global:
      if (v.global != G::dtype) bad(v, fmt::format("{} is no attribute of a tensor", quoted(v.text)));
      a.kind = Attribute::Kind::dtype;
      a.text = dtype_name(id);
      return a;
    case Kind::call:
    case Kind::object: return named(v);
    case Kind::persistent: bad(v, "an attribute is stored data");
  }
  a.integer = v.integer;
  a.real = v.real;
  return a;
}

/// The result of a call, or an object.
Attribute Interpreter::named(const PickleValue& v) {
  const PickleValue& type = values_[v.items[0]];
  const PickleValue& given = values_[v.items[1]];
  Attribute a;
  a.text = type.text;
  const auto first_text = [&] { return text(arguments(v, 1, 2).items[0], "the name"); };
  switch (type.global) {
    case G::device:
      a.kind = Attribute::Kind::device;
      a.text = first_text();
      return a;
    case G::layout:
      a.kind = Attribute::Kind::layout;
      a.text = first_text();
      return a;
    case G::size:
      a.kind = Attribute::Kind::list;
      for (const PickleId item : sequence(arguments(v, 1, 1).items[0], "the list of sizes").items)
        a.items.push_back(attribute(item));
      return a;
    case G::enumeration:
      a.kind = Attribute::Kind::enumeration;
      a.items.push_back(attribute(arguments(v, 1, 1).items[0]));
      return a;
    case G::ordered_dict:
    case G::record:
      if (!given.items.empty()) bad(v, fmt::format("{} is made with arguments", quoted(type.text)));
      a.kind = Attribute::Kind::record;
      if (v.state != kNoPickleValue) a.fields = fields(v.state);
      return a;
    case G::named_tuple:
      a.kind = Attribute::Kind::list;
      for (const PickleId item : given.items) a.items.push_back(attribute(item));
      return a;
    default: break;
  }
  bad(v, fmt::format("{} is no attribute of a tensor", quoted(type.text)));
}

std::vector<PickledField> Interpreter::fields(PickleId id) {
  const PickleValue& dict = value(id, Kind::dict, "the state of an attribute");
  std::vector<PickledField> result;
  for (std::size_t i = 0; i < dict.items.size(); i += 2)
    result.push_back({text(dict.items[i], "the name of a field"), attribute(dict.items[i + 1])});
  return result;
}

template <class Named>
auto find_in(const std::vector<Named>& list, std::string_view name) -> decltype(&list.begin()->value) {
  const auto at = std::ranges::find(list, name, &Named::name);
  return at == list.end() ? nullptr : &at->value;
}

}  // namespace

const PickledAttribute* PickledAttribute::find(std::string_view name) const {
  return find_in(fields, name);
}
const PickledTensor* PickledTensor::find(std::string_view name) const {
  return find_in(inner, name);
}
const PickledAttribute* PickledTensor::attribute(std::string_view name) const {
  return find_in(attributes, name);
}

PickledTensor read_pickled_tensor(const SavedObject& object, const std::string& label) {
  const PickleValues values = read_pickle(object.pickle.bytes, label, object.pickle.offset);
  return Interpreter(values, object, label).tensor(values.root);
}

}  // namespace tern::pt2
