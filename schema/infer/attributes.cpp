#include "schema/infer/attributes.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/op_record.h"

namespace tern {
namespace {

void check_count(const Inference& c, const AttrRecord& r, std::size_t values) {
  if (r.count < 0 || values == static_cast<std::size_t>(r.count)) return;
  c.fail(fmt::format("attribute '{}' has {} values, not {}", attr_name(r.key), values, r.count));
}

bool is_list(AttrType t) {
  return t == AttrType::integers || t == AttrType::dims || t == AttrType::axes || t == AttrType::symbols ||
         t == AttrType::dims_or_numbers;
}

void check_dims(const Inference& c, const AttrRecord& r, const Dims& values) {
  if (is_list(r.type)) {
    check_count(c, r, values.size());
  } else if (values.size() != 1) {
    c.fail(fmt::format("attribute '{}' has {} values, not one", attr_name(r.key), values.size()));
  }
  const bool symbolic = r.type == AttrType::dim || r.type == AttrType::dims || r.type == AttrType::symbols ||
                        r.type == AttrType::dims_or_numbers;
  const AttrRecord unlimited;
  const bool unbounded = r.min == unlimited.min && r.max == unlimited.max;
  for (Dim d : values) {
    if (!symbolic && !d.is_const()) c.fail(fmt::format("attribute '{}' must be a constant", attr_name(r.key)));
    if (!d.is_const() && unbounded) continue;
    const Interval v = d.is_const() ? Interval{d.value(), d.value()} : c.pool.bounds(d);
    if (v.max >= r.min && v.min <= r.max) continue;
    c.fail(fmt::format("attribute '{}' is {}, outside {}..{}", attr_name(r.key), c.pool.text(d), r.min, r.max));
  }
}

void check_numbers(const Inference& c, const AttrRecord& r, const std::vector<double>& values) {
  if (r.type != AttrType::number) {
    check_count(c, r, values.size());
  } else if (values.size() != 1) {
    c.fail(fmt::format("attribute '{}' has {} values, not one", attr_name(r.key), values.size()));
  }
  for (double v : values) {
    if (r.ordered && !(v >= r.lowest && v <= r.highest))
      c.fail(fmt::format("attribute '{}' is {}, outside {}..{}", attr_name(r.key), v, r.lowest, r.highest));
  }
}

void check_text(const Inference& c, const AttrRecord& r, const std::string& text) {
  if (!r.names.empty() && std::ranges::find(r.names, text) == r.names.end())
    c.fail(fmt::format("unknown {} '{}'", attr_name(r.key), text));
}

void check(const Inference& c, const AttrRecord& r, const AttrData& data) {
  const bool takes_numbers =
      r.type == AttrType::number || r.type == AttrType::numbers || r.type == AttrType::dims_or_numbers;
  const auto* numbers = std::get_if<std::vector<double>>(&data);
  const auto* dims = std::get_if<Dims>(&data);
  if (numbers != nullptr && takes_numbers) return check_numbers(c, r, *numbers);
  if (r.type == AttrType::text) {
    if (const auto* text = std::get_if<std::string>(&data)) return check_text(c, r, *text);
  } else if (dims != nullptr && (!takes_numbers || r.type == AttrType::dims_or_numbers)) {
    return check_dims(c, r, *dims);
  }
  const char* expected_type = r.type == AttrType::text ? "a text"
                              : takes_numbers          ? "a list of numbers"
                                                       : "a list of integers";
  c.fail(fmt::format("attribute '{}' is not {}", attr_name(r.key), expected_type));
}

}  // namespace

void check_attributes(const Inference& c) {
  for (const Attr& a : c.node.attrs) {
    const AttrRecord* r = find_attribute(c.node.op, a.key);
    if (r != nullptr) {
      check(c, *r, a.data);
    } else if (attr_name(a.key) != "unknown") {  // the validator reports keys unknown to this version
      c.fail(fmt::format("the op has no attribute '{}'", attr_name(a.key)));
    }
  }
  for (const AttrRecord& r : op_record(c.node.op).attributes) {
    if (r.presence == Presence::required && !c.node.has(r.key))
      c.fail(fmt::format("attribute '{}' is missing", attr_name(r.key)));
  }
}

}  // namespace tern
