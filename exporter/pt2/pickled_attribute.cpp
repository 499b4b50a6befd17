// Attributes of pickled tensors: numbers, texts, dtypes, enums, records and their lists.
#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/pt2/pickle_view.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

using PickleValueKind = PickleValue::Kind;
using G = PickleGlobal;
using Attribute = PickledAttribute;

std::vector<PickledField> fields(PickleView& view, PickleId id);
Attribute object_attribute(PickleView& view, const PickleValue& v);

Attribute attribute(PickleView& view, PickleId id) {
  const PickleValue& v = view[id];
  const PickleView::Visit visit(view, v);
  Attribute a;
  switch (v.kind) {
    case PickleValueKind::none: return a;
    case PickleValueKind::boolean: a.kind = Attribute::Kind::boolean; break;
    case PickleValueKind::integer: a.kind = Attribute::Kind::integer; break;
    case PickleValueKind::real: a.kind = Attribute::Kind::real; break;
    case PickleValueKind::text:
      a.kind = Attribute::Kind::text;
      a.text = view.text(id, "an attribute");
      return a;
    case PickleValueKind::tuple:
    case PickleValueKind::list:
      a.kind = Attribute::Kind::list;
      for (const PickleId item : v.items) a.items.push_back(attribute(view, item));
      return a;
    case PickleValueKind::dict:
      a.kind = Attribute::Kind::record;
      a.fields = fields(view, id);
      return a;
    case PickleValueKind::global:
      if (v.global != G::dtype) view.bad(v, fmt::format("{} is not an attribute of a tensor", quote(v.text)));
      a.kind = Attribute::Kind::dtype;
      a.text = view.dtype_name(id);
      return a;
    case PickleValueKind::call:
    case PickleValueKind::object: return object_attribute(view, v);
    case PickleValueKind::persistent: view.bad(v, "an attribute is stored data");
  }
  a.integer = v.integer;
  a.real = v.real;
  return a;
}

/// The result of a call, or an object.
Attribute object_attribute(PickleView& view, const PickleValue& v) {
  const PickleValue& type = view[v.items[0]];
  const PickleValue& state = view[v.items[1]];
  Attribute a;
  a.text = type.text;
  const auto first_text = [&] { return view.text(view.arguments(v, 1, 2).items[0], "the name"); };
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
      for (const PickleId item : view.sequence(view.arguments(v, 1, 1).items[0], "the list of sizes").items)
        a.items.push_back(attribute(view, item));
      return a;
    case G::enumeration:
      a.kind = Attribute::Kind::enumeration;
      a.items.push_back(attribute(view, view.arguments(v, 1, 1).items[0]));
      return a;
    case G::ordered_dict:
    case G::record:
      if (!state.items.empty()) view.bad(v, fmt::format("{} is made with arguments", quote(type.text)));
      a.kind = Attribute::Kind::record;
      if (v.state != kNoPickleValue) a.fields = fields(view, v.state);
      return a;
    case G::named_tuple:
      a.kind = Attribute::Kind::list;
      for (const PickleId item : state.items) a.items.push_back(attribute(view, item));
      return a;
    default: break;
  }
  view.bad(v, fmt::format("{} is not an attribute of a tensor", quote(type.text)));
}

std::vector<PickledField> fields(PickleView& view, PickleId id) {
  const PickleValue& dict = view.value(id, PickleValueKind::dict, "the state of an attribute");
  std::vector<PickledField> result;
  for (std::size_t i = 0; i < dict.items.size(); i += 2)
    result.push_back({view.text(dict.items[i], "the name of a field"), attribute(view, dict.items[i + 1])});
  return result;
}

}  // namespace

PickledAttribute read_pickled_attribute(PickleView& view, PickleId id) {
  return attribute(view, id);
}

}  // namespace tern::pt2
