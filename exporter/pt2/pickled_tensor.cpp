#include "exporter/pt2/pickled_tensor.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>

#include "exporter/pt2/pickle_reader.h"
#include "exporter/pt2/pickle_view.h"
#include "exporter/pt2/text.h"
#include "schema/work.h"

namespace tern::pt2 {
namespace {

using PickleValueKind = PickleValue::Kind;
using G = PickleGlobal;

// A file may have many parameters with the same pickle, and all their inner tensors become states with names.
constexpr std::size_t kMaxTensors = 32;
constexpr std::size_t kMaxInnerNameBytes = 64;

class Interpreter {
 public:
  explicit Interpreter(PickleView& view) : view_(view) {}

  PickledTensor tensor(PickleId id);

 private:
  PickledTensor read_plain_tensor(const PickleValue& v, bool typed);
  PickledTensor subclass(const PickleValue& v);
  PickledTensor wrapper(PickleId type, PickleId arguments);
  void state(PickledTensor& tensor, PickleId id);
  using NameSet = std::set<std::string_view>;
  void read_attributes(PickledTensor& t, const PickleValue& v, NameSet& names);
  void set_storage(PickledTensor& tensor, const PickleValue& v, PickleId persistent, bool typed);
  void check_inside(const PickledTensor& tensor, const PickleValue& v, std::uint64_t bytes) const;
  bool is_tensor(const PickleValue& v) const;
  DType dtype(PickleId id) const;

  PickleView& view_;
  std::size_t tensors_ = 0;
};

bool Interpreter::is_tensor(const PickleValue& v) const {
  if (v.kind != PickleValueKind::call) return false;
  switch (view_.callee(v)) {
    case G::rebuild_from_type:
    case G::rebuild_tensor:
    case G::rebuild_tensor_of_type:
    case G::rebuild_parameter:
    case G::rebuild_parameter_with_state:
    case G::rebuild_wrapper: return true;
    default: return false;
  }
}

DType Interpreter::dtype(PickleId id) const {
  const DType t = dtype_from_name(view_.dtype_name(id));
  if (t == DType::invalid)
    view_.bad(view_[id], fmt::format("tensors of {} are not supported", view_.dtype_name(id)), ErrorCode::unsupported);
  return t;
}

PickledTensor Interpreter::tensor(PickleId id) {
  const PickleValue& v = view_[id];
  const PickleView::Visit visit(view_, v);
  charge_work(sizeof(PickledInner));
  if (++tensors_ > kMaxTensors) view_.bad(v, fmt::format("the pickle has more than {} tensors", kMaxTensors));
  if (!is_tensor(v)) view_.bad(v, fmt::format("expected a tensor, found {}", name_of(v.kind)), ErrorCode::unsupported);
  switch (view_.callee(v)) {
    case G::rebuild_from_type: return subclass(v);
    case G::rebuild_wrapper: return wrapper(view_.arguments(v, 8, 8).items[0], v.items[1]);
    case G::rebuild_parameter: return tensor(view_.arguments(v, 3, 3).items[0]);
    case G::rebuild_parameter_with_state: return tensor(view_.arguments(v, 4, 4).items[0]);
    default: return read_plain_tensor(v, view_.callee(v) == G::rebuild_tensor_of_type);
  }
}

// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks, metadata); v3 has the dtype before
// metadata.
PickledTensor Interpreter::read_plain_tensor(const PickleValue& v, bool typed) {
  const std::size_t lower = typed ? 7 : 6;
  const PickleValue& a = view_.arguments(v, lower, lower + 1);
  if (a.items.size() > lower) {
    const PickleValue& metadata = view_[a.items[lower]];
    if (metadata.kind != PickleValueKind::none && !metadata.items.empty())
      view_.bad(metadata, "tensors that are conjugated or negated lazily are not supported", ErrorCode::unsupported);
  }
  PickledTensor t;
  t.offset = view_.natural(a.items[1], "the storage offset");
  t.sizes = view_.naturals(a.items[2], "the list of sizes");
  t.strides = view_.naturals(a.items[3], "the list of strides");
  if (t.sizes.size() != t.strides.size()) view_.bad(v, "the numbers of strides and sizes differ");
  if (typed) t.dtype = dtype(a.items[6]);
  if (t.dtype == DType::f4_e2m1) t.dtype = DType::u8;  // PyTorch and its programs count bytes
  set_storage(t, v, a.items[0], typed);
  return t;
}

// ("storage", class of the storage, key, device, number of elements)
void Interpreter::set_storage(PickledTensor& t, const PickleValue& v, PickleId id, bool typed) {
  const PickleValue& persistent = view_.value(id, PickleValueKind::persistent, "the storage");
  const PickleValue& tuple = view_.value(persistent.items[0], PickleValueKind::tuple, "the reference to stored data");
  if (tuple.items.size() != 5 || view_.text(tuple.items[0], "the kind of stored data") != "storage")
    view_.bad(tuple, "a reference to stored data is not a storage", ErrorCode::unsupported);
  const PickleValue& type = view_.value(tuple.items[1], PickleValueKind::global, "the class of the storage");
  if (type.global != G::storage) view_.bad(type, fmt::format("{} is not a storage", quote(type.text)));
  const DType elements = storage_dtype(type.text);
  if (!typed && elements == DType::invalid) view_.bad(type, "the dtype of the tensor is missing");
  if (!typed) t.dtype = elements;
  t.storage = view_.text(tuple.items[2], "the key of the storage");
  const SavedPart* saved = view_.object().storages.find(t.storage);
  if (saved == nullptr) view_.bad(tuple, fmt::format("entry data/{} is missing", quote(t.storage)));
  std::int64_t bytes = 0;
  const std::int64_t count = view_.natural(tuple.items[4], "the size of the storage");
  if (__builtin_mul_overflow(count, elements == DType::invalid ? 1 : element_size(elements), &bytes) ||
      static_cast<std::uint64_t>(bytes) != saved->bytes.size())
    view_.bad(tuple, fmt::format("the storage {} has {} elements of {}, but its entry has {} bytes", quote(t.storage),
                                 count, quote(type.text), saved->bytes.size()));
  check_inside(t, v, saved->bytes.size());
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
      view_.bad(v, "the tensor is larger than 2^63 bytes");
  }
  if (empty) return;
  std::int64_t last_byte = 0;
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, element_size(t.dtype), &last_byte))
    view_.bad(v, "the tensor is larger than 2^63 bytes");
  if (static_cast<std::uint64_t>(last_byte) > bytes)
    view_.bad(v, fmt::format("the tensor needs {} bytes of the storage {}, which has {}", last_byte, quote(t.storage),
                             bytes));
}

// _rebuild_from_type_v2(function, class, arguments, state)
PickledTensor Interpreter::subclass(const PickleValue& v) {
  const PickleValue& a = view_.arguments(v, 4, 4);
  const PickleValue& function =
      view_.value(a.items[0], PickleValueKind::global, "the function that rebuilds the tensor");
  if (function.global != G::rebuild_wrapper)
    view_.bad(function, fmt::format("{} does not rebuild a tensor subclass", quote(function.text)),
              ErrorCode::unsupported);
  const PickleValue& type = view_.value(a.items[1], PickleValueKind::global, "the class of the tensor");
  PickledTensor t = wrapper(a.items[1], a.items[2]);
  if (t.class_name != type.text) view_.bad(type, "the two classes of the tensor differ");
  state(t, a.items[3]);
  return t;
}

// (class, dtype, sizes, strides, offset, layout, device, requires_grad)
PickledTensor Interpreter::wrapper(PickleId type, PickleId arguments) {
  const PickleValue& a = view_.value(arguments, PickleValueKind::tuple, "the list of arguments");
  if (a.items.size() != 8) view_.bad(a, "a tensor subclass needs 8 arguments");
  const PickleValue& name = view_.value(a.items[0], PickleValueKind::global, "the class of the tensor");
  if (name.global != G::tensor_class || view_[type].text != name.text)
    view_.bad(name, fmt::format("{} is not a tensor class", quote(name.text)));
  PickledTensor t;
  t.class_name = name.text;
  t.dtype = dtype(a.items[1]);
  t.sizes = view_.naturals(a.items[2], "the list of sizes");
  t.strides = view_.naturals(a.items[3], "the list of strides");
  if (t.sizes.size() != t.strides.size()) view_.bad(a, "the numbers of strides and sizes differ");
  return t;
}

/// Reads the tensor's __dict__, or a pair of __dict__ and slots.
void Interpreter::state(PickledTensor& t, PickleId id) {
  const PickleValue& v = view_[id];
  NameSet names;
  if (v.kind != PickleValueKind::tuple || v.items.size() != 2) return read_attributes(t, v, names);
  for (const PickleId base_id : v.items) {
    if (view_[base_id].kind != PickleValueKind::none) read_attributes(t, view_[base_id], names);
  }
}

void Interpreter::read_attributes(PickledTensor& t, const PickleValue& v, NameSet& names) {
  if (v.kind != PickleValueKind::dict)
    view_.bad(v, fmt::format("the state of the tensor is {}, not a dict", name_of(v.kind)));
  for (std::size_t i = 0; i < v.items.size(); i += 2) {
    const std::string_view name = view_.text(v.items[i], "the name of an attribute");
    const PickleValue& item = view_[v.items[i + 1]];
    if (!names.insert(name).second) view_.bad(item, fmt::format("the attribute {} occurs twice", quote(name)));
    if (is_tensor(item)) {
      if (name.size() > kMaxInnerNameBytes)
        view_.bad(item, fmt::format("the name of an inner tensor has {} bytes; at most {} are supported", name.size(),
                                    kMaxInnerNameBytes));
      t.inner.push_back({name, tensor(v.items[i + 1])});
    } else {
      t.attributes.push_back({name, read_pickled_attribute(view_, v.items[i + 1])});
    }
  }
}

template <class Named>
auto find_in(const std::vector<Named>& list, std::string_view name) -> decltype(&list.begin()->value) {
  const auto it = std::ranges::find(list, name, &Named::name);
  return it == list.end() ? nullptr : &it->value;
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
  PickleView view(values, object, label);
  return Interpreter(view).tensor(values.root);
}

}  // namespace tern::pt2
