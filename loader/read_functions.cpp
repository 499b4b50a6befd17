// Functions and nodes of an index.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "loader/index_reader.h"

namespace tern {
namespace {

template <class Vector>
auto row(const Vector* v, std::size_t i) {
  return v->Get(static_cast<flatbuffers::uoffset_t>(i));
}

/// Reports an enumeration value unknown to this version and continues with 0.
template <class Kind, class Stored>
Kind kind(IndexReader& reader, const void* at, Stored stored, Stored last, const char* what) {
  if (stored <= last) return static_cast<Kind>(stored);
  reader.findings().add("enums.kind", reader.offset_of(at), what,
                        fmt::format("kind {} is not known to this version (it knows 0 to {})", static_cast<int>(stored),
                                    static_cast<int>(last)),
                        ErrorCode::unsupported);
  return Kind{};
}

Attr read_attribute(IndexReader& reader, const archive::Attribute& a) {
  Attr attr{static_cast<AttrKey>(a.key()), {}};
  switch (a.kind()) {
    case archive::AttributeKind::sizes: attr.data = reader.sizes(a.sizes()); break;
    case archive::AttributeKind::numbers: {
      std::vector<double> numbers;
      if (reader.count(a.numbers()) > 0) numbers.assign(a.numbers()->begin(), a.numbers()->end());
      attr.data = std::move(numbers);
      break;
    }
    case archive::AttributeKind::text: attr.data = reader.text(a.text(), &a); break;
    default:
      reader.findings().add("enums.kind", reader.offset_of(&a), "attribute",
                            fmt::format("kind {} is not known to this version", static_cast<int>(a.kind())),
                            ErrorCode::unsupported);
  }
  return attr;
}

Annotation read_annotation(IndexReader& reader, const archive::Annotation& a) {
  Annotation note{reader.name(a.key(), &a), {}};
  switch (a.kind()) {
    case archive::AnnotationKind::integer: note.value = a.integer(); break;
    case archive::AnnotationKind::number: note.value = a.number(); break;
    case archive::AnnotationKind::boolean: note.value = a.integer() != 0; break;
    case archive::AnnotationKind::text: note.value = reader.text(a.text(), &a); break;
    default:
      reader.findings().add("enums.kind", reader.offset_of(&a), "annotation",
                            fmt::format("kind {} is not known to this version", static_cast<int>(a.kind())),
                            ErrorCode::unsupported);
  }
  return note;
}

/// An op of earlier writers that another op has replaced, and the attributes that the other op lacks.
struct FormerOp {
  std::uint16_t number;
  Op op;
  std::array<AttrKey, 2> dropped;
};
constexpr FormerOp kFormerOps[] = {
    {111, Op::dequantize, {AttrKey::block, AttrKey::layout}},  // mx_dequantize: its operand's type has the blocks
};

void replace_former_op(Node& n) {
  const auto* const former = std::ranges::find(kFormerOps, static_cast<std::uint16_t>(n.op), &FormerOp::number);
  if (former == std::end(kFormerOps)) return;
  n.op = former->op;
  std::erase_if(n.attrs,
                [&](const Attr& a) { return std::ranges::find(former->dropped, a.key) != former->dropped.end(); });
}

void read_node(IndexReader& reader, const archive::Node& row_, Node& n) {
  n.op = static_cast<Op>(row_.op());
  n.version = row_.version();
  if (reader.count(row_.inputs()) > 0) n.inputs.assign(row_.inputs()->begin(), row_.inputs()->end());
  if (reader.count(row_.outputs()) > 0) n.outputs.assign(row_.outputs()->begin(), row_.outputs()->end());
  if (reader.count(row_.functions()) > 0) n.functions.assign(row_.functions()->begin(), row_.functions()->end());
  const std::size_t attributes = reader.count(row_.attributes());
  n.attrs.reserve(attributes);
  for (std::size_t i = 0; i < attributes; ++i) n.attrs.push_back(read_attribute(reader, *row(row_.attributes(), i)));
  replace_former_op(n);
  const std::size_t code = reader.count(row_.code());
  n.expr.code.reserve(code);
  for (std::size_t i = 0; i < code; ++i) {
    const archive::Instruction& r = *row(row_.code(), i);
    const auto op = static_cast<Scalar>(r.op());
    const auto operand = [count = scalar_info(op).operands](int k, std::uint16_t v) {
      return k < count ? v : std::uint16_t{0};  // ignores unused operands
    };
    n.expr.code.push_back({op, static_cast<DType>(r.dtype()), operand(0, r.a()), operand(1, r.b()), operand(2, r.c()),
                           r.integer(), r.number(), r.imaginary()});
  }
  n.origin = row_.origin();
  const std::size_t annotations = reader.count(row_.annotations());
  n.annotations.reserve(annotations);
  for (std::size_t i = 0; i < annotations; ++i)
    n.annotations.push_back(read_annotation(reader, *row(row_.annotations(), i)));
  reader.expand(sizeof(Node) + attributes * sizeof(Attr) + annotations * sizeof(Annotation));
}

void read_function(IndexReader& reader, const archive::Function& row_, Function& f) {
  f.name = reader.name(row_.name(), &row_);
  f.entry = row_.entry();
  f.in_tree = reader.text(row_.in_tree_text(), &row_);
  f.out_tree = reader.text(row_.out_tree_text(), &row_);
  const std::size_t values = reader.count(row_.values());
  reader.expand(values * sizeof(Value));
  f.values.reserve(values);
  for (std::size_t i = 0; i < values; ++i) {
    const archive::Value& r = *row(row_.values(), i);
    f.values.push_back({reader.type(r.type(), &r), reader.name(r.name(), &r)});
  }
  const std::size_t inputs = reader.count(row_.inputs());
  reader.expand(inputs * sizeof(FunctionInput));
  f.inputs.reserve(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    const archive::Input& r = *row(row_.inputs(), i);
    f.inputs.push_back({kind<FunctionInput::Kind>(reader, &r, r.kind(), archive::InputKind::none, "input"), r.value(),
                        r.state(), reader.name(r.name(), &r), reader.text(r.constant_text(), &r)});
  }
  const std::size_t outputs = reader.count(row_.outputs());
  reader.expand(outputs * sizeof(FunctionOutput));
  f.outputs.reserve(outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    const archive::Output& r = *row(row_.outputs(), i);
    f.outputs.push_back({kind<FunctionOutput::Kind>(reader, &r, r.kind(), archive::OutputKind::none, "output"),
                         r.value(), reader.name(r.name(), &r)});
  }
  const std::size_t writebacks = reader.count(row_.writebacks());
  f.writebacks.reserve(writebacks);
  for (std::size_t i = 0; i < writebacks; ++i) {
    const archive::WriteBack& r = *row(row_.writebacks(), i);
    f.writebacks.push_back(
        {kind<WriteBack::Target>(reader, &r, r.target(), archive::WriteBackTarget::input, "write-back"), r.index(),
         r.value()});
  }
  const std::size_t nodes = reader.count(row_.nodes());
  reader.expand(nodes * sizeof(Node));
  f.nodes.resize(nodes);
  for (std::size_t i = 0; i < nodes; ++i) read_node(reader, *row(row_.nodes(), i), f.nodes[i]);
}

}  // namespace

void read_functions(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->functions();
  const std::size_t n = reader.count(rows);
  reader.expand(n * sizeof(Function));
  program.functions.resize(n);
  for (std::size_t i = 0; i < n; ++i) read_function(reader, *row(rows, i), program.functions[i]);
}

}  // namespace tern
