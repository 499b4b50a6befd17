#include "python/binding/dlpack_exchange.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <string>
#include <unordered_map>

namespace nb = nanobind;

namespace tern::python {
namespace {

struct TypeExchange {
  const DlpackExchange* exchange = nullptr;
  bool lazy = false;  ///< has is_conj and is_neg, like torch.Tensor
};

TypeExchange look_up(nb::handle type) {
  TypeExchange exchange;
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return exchange;
  auto* table = static_cast<const DlpackExchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (table != nullptr && table->major != dlpack::kMajor) table = table->previous;
  exchange.exchange = table;
  exchange.lazy = nb::hasattr(type, "is_conj") && nb::hasattr(type, "is_neg");
  return exchange;
}

}  // namespace

const DlpackExchange* exchange_of(nb::handle object, std::string_view name) {
  // Requires the GIL. Cached types are kept alive, to keep their addresses unique.
  static std::unordered_map<PyTypeObject*, TypeExchange> known_types;
  PyTypeObject* const type = Py_TYPE(object.ptr());
  auto found = known_types.find(type);
  if (found == known_types.end()) {
    const TypeExchange exchange = look_up(object.type());
    object.type().inc_ref();
    found = known_types.emplace(type, exchange).first;
  }
  const TypeExchange& known = found->second;
  for (const char* view : {"conj", "neg"}) {
    if (known.lazy && nb::cast<bool>(object.attr((std::string("is_") + view).c_str())()))
      fail(ErrorCode::invalid_argument,
           fmt::format("input '{}' is a view whose values torch computes when it reads them; pass x.resolve_{}()", name,
                       view));
  }
  return known.exchange;
}

}  // namespace tern::python
