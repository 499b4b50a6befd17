#include "tools/op_text.h"

#include <fmt/format.h>
#include <tern/dtype.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "exporter/gradients/registry.h"
#include "tools/text_table.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

/// A value of the attribute: "2", "sum", "int64".
std::string value_text(const AttrRecord& a, std::int64_t value) {
  if (a.type == AttrType::dtype) return std::string(name_of(static_cast<DType>(value)));
  if (a.type == AttrType::enumeration) return std::string(a.names[static_cast<std::size_t>(value)]);
  return std::to_string(value);
}

bool has_numbers(const AttrRecord& a) {
  return a.type == AttrType::number || a.type == AttrType::numbers;
}

std::string default_text(const AttrRecord& a) {
  switch (a.presence) {
    case Presence::required: return "required";
    case Presence::defaulted: return has_numbers(a) ? fmt::format("{}", a.number) : value_text(a, a.integer);
    case Presence::optional: break;
  }
  return fmt::format("({})", a.absent);
}

bool is_bounded(const AttrRecord& a) {
  return a.min != AttrRecord{}.min && a.type != AttrType::boolean && a.type != AttrType::dtype;
}

/// "0..3", "at least 1", "sum, prod, mean"; empty if all values are allowed.
std::string bounds_text(const AttrRecord& a) {
  std::string text;
  if (a.count >= 0) text = a.count == 1 ? "one" : fmt::format("{} values", a.count);
  const auto add = [&text](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  for (std::size_t i = 0; i < a.names.size(); ++i) {
    const bool allowed = a.type != AttrType::enumeration || static_cast<std::int64_t>(i) >= a.min;
    if (allowed) add(a.type == AttrType::text ? std::string(a.names[i]) : fmt::format("{} {}", i, a.names[i]));
  }
  if (is_bounded(a) && a.names.empty())
    add(a.max == AttrRecord{}.max ? fmt::format("at least {}", a.min) : fmt::format("{}..{}", a.min, a.max));
  if (a.ordered) {
    const bool finite = a.highest == std::numeric_limits<double>::max();
    add(finite ? "finite" : a.lowest == 0 ? "at least 0" : "not NaN");
  }
  return text;
}

/// "x, weight?" as JSON objects.
Json operands_json(std::string_view list) {
  Json operands = Json::array();
  OperandName name;
  while (next_operand(list, &name)) {
    const char* count = name.mark == '?' ? "optional" : name.mark == '*' ? "any" : name.mark == '+' ? "some" : "one";
    operands.push_back({{"name", name.name}, {"count", count}});
  }
  return operands;
}

Json attribute_json(const AttrRecord& a) {
  Json j = {
      {"name", attr_name(a.key)}, {"type", attr_type_name(a.type)}, {"required", a.presence == Presence::required}};
  if (a.presence == Presence::defaulted) {
    j["default"] = has_numbers(a) ? Json(a.number) : Json(a.integer);
    if (a.type == AttrType::dtype || a.type == AttrType::enumeration) j["default_name"] = default_text(a);
  }
  if (a.presence == Presence::optional) j["absent"] = a.absent;
  if (a.count >= 0) j["count"] = a.count;
  if (a.min != AttrRecord{}.min) j["min"] = a.min;
  if (a.max != AttrRecord{}.max) j["max"] = a.max;
  if (!a.names.empty()) j["values"] = a.names;
  j["text"] = a.text;
  return j;
}

}  // namespace

std::string record_text(const OpRecord& record) {
  std::string text = fmt::format("{}: {}\n  {}\n", record.name, record.text, record.signature);
  if (record.bodies > 0) text += fmt::format("  functions: {}\n", record.bodies);
  std::string traits;
  for (std::string_view t : trait_names(record)) traits += fmt::format("{}{}", traits.empty() ? "" : ", ", t);
  if (!traits.empty()) text += fmt::format("  traits: {}\n", traits);
  text += fmt::format("  gradient: {}\n", gradient_text(record.op));
  if (record.attributes.empty()) return text;
  TextTable table({{"attribute"}, {"type"}, {"default"}, {"values"}, {"meaning"}});
  for (const AttrRecord& a : record.attributes) {
    table.add_row({std::string(attr_name(a.key)), std::string(attr_type_name(a.type)), default_text(a), bounds_text(a),
                   std::string(a.text)});
  }
  return text + "\n" + table.str();
}

Json record_json(const OpRecord& record) {
  Json j = {{"name", record.name},
            {"number", static_cast<int>(record.op)},
            {"version", record.version},
            {"min_inputs", record.min_inputs},
            {"max_inputs", record.max_inputs},
            {"outputs", record.outputs},
            {"text", record.text},
            {"signature", record.signature},
            {"operands", operands_json(operands_of(record.signature))},
            {"results", operands_json(results_of(record.signature))},
            {"functions", record.bodies},
            {"traits", trait_names(record)},
            {"gradient", gradient_text(record.op)},
            {"attributes", Json::array()}};
  for (const AttrRecord& a : record.attributes) j["attributes"].push_back(attribute_json(a));
  return j;
}

}  // namespace tern
