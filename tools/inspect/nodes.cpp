#include "tools/inspect/nodes.h"

#include <fmt/format.h>

#include "tools/inspect/inspect.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kMaxItems = 16;
constexpr std::size_t kMaxExpression = 400;

std::string instruction_text(const PointwiseExpr& e, std::size_t i, int depth) {
  const Instruction& n = e.code[i];
  const ScalarInfo& info = scalar_info(n.op);
  if (info.op == Scalar::invalid) return fmt::format("scalar {}", static_cast<int>(n.op));
  if (n.op == Scalar::load) return fmt::format("x{}", n.integer);
  if (n.op == Scalar::index) return fmt::format("index{}", n.integer);
  if (n.op == Scalar::constant) {
    const bool is_whole = is_integral(n.dtype) || n.dtype == DType::boolean;
    if (is_whole) return std::to_string(n.integer);
    return n.imaginary == 0 ? fmt::format("{:g}", n.number) : fmt::format("({:g}{:+g}j)", n.number, n.imaginary);
  }
  if (depth == 0) return "...";
  const std::uint16_t operands[] = {n.a, n.b, n.c};
  std::string text(n.op == Scalar::convert ? name_of(n.dtype) : info.name);
  text += "(";
  for (int k = 0; k < info.operands; ++k) {
    if (k > 0) text += ", ";
    // Follows only earlier instructions: a wrong number must not cause a cycle.
    text += operands[k] < i && text.size() < kMaxExpression ? instruction_text(e, operands[k], depth - 1) : "...";
  }
  return text + ")";
}

}  // namespace

std::string expression_text(const PointwiseExpr& e) {
  if (e.code.empty()) return "";
  const std::string text = instruction_text(e, e.code.size() - 1, 12);
  return text.size() <= kMaxExpression ? text : text.substr(0, kMaxExpression) + "...";
}

std::string value_text(const Function& f, ValueId v) {
  if (v < 0 || static_cast<std::size_t>(v) >= f.values.size()) return "-";
  return fmt::format("%{}", v);
}

std::string attribute_text(const Program& program, const Attr& a) {
  if (const auto* text = std::get_if<std::string>(&a.data)) return "\"" + escape_name(*text) + "\"";
  std::string items_text;
  std::size_t count = 0;
  const auto append = [&](const std::string& item) {
    if (++count <= kMaxItems) items_text += (items_text.empty() ? "" : ", ") + item;
  };
  if (const auto* dims = std::get_if<Dims>(&a.data)) {
    for (std::size_t i = 0; i < dims->size() && i <= kMaxItems; ++i) append(escape_name(program.pool.text((*dims)[i])));
    count = dims->size();
    if (a.key == AttrKey::dtype && count == 1 && (*dims)[0].is_const()) {
      return std::string(name_of(static_cast<DType>((*dims)[0].value())));
    }
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&a.data)) {
    for (double x : *numbers) append(fmt::format("{:g}", x));
  }
  if (count == 1) return items_text;
  return "[" + items_text + (count > kMaxItems ? fmt::format(", ... {} in total]", count) : "]");
}

std::string annotations_text(const Node& n) {
  std::string text;
  for (const Annotation& a : n.annotations) {
    text += (text.empty() ? "" : ", ") + escape_name(a.key) + ": ";
    if (const auto* i = std::get_if<std::int64_t>(&a.value)) text += std::to_string(*i);
    if (const auto* d = std::get_if<double>(&a.value)) text += fmt::format("{}", *d);
    if (const auto* b = std::get_if<bool>(&a.value)) text += *b ? "true" : "false";
    if (const auto* s = std::get_if<std::string>(&a.value)) text += "\"" + escape_name(*s) + "\"";
  }
  return text;
}

std::string node_text(const Program& program, const Function& f, const Node& n) {
  std::string line;
  for (ValueId v : n.outputs) {
    if (!line.empty()) line += ", ";
    line += value_text(f, v);
    if (line.back() != '-')
      line += " " + escape_name(text_of(f.values[static_cast<std::size_t>(v)].type, program.pool));
  }
  line += (line.empty() ? "" : " = ") + op_text(n.op) + "(";
  for (std::size_t i = 0; i < n.inputs.size(); ++i) line += (i == 0 ? "" : ", ") + value_text(f, n.inputs[i]);
  line += ")";
  if (!n.expr.code.empty()) line += "  " + expression_text(n.expr);
  std::string attributes;
  for (const Attr& a : n.attrs) {
    attributes += fmt::format("{}{}: {}", attributes.empty() ? "" : ", ", attr_name(a.key), attribute_text(program, a));
  }
  if (!attributes.empty()) line += "  {" + attributes + "}";
  for (std::uint32_t body : n.functions) {
    line += body < program.functions.size()
                ? fmt::format("  -> function {} '{}'", body, escape_name(program.functions[body].name))
                : "";
  }
  if (n.origin >= 0 && static_cast<std::size_t>(n.origin) < program.origins.size()) {
    const Origin& o = program.origins[static_cast<std::size_t>(n.origin)];
    for (const std::string* part : {&o.op, &o.module, &o.source}) {
      if (!part->empty()) line += (part == &o.op ? "  # " : "  ") + escape_name(*part);
    }
  }
  const std::string notes = annotations_text(n);
  if (!notes.empty()) line += "  [" + notes + "]";
  return line;
}

}  // namespace tern
