#include "exporter/archive/index.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/archive/index_tables.h"
#include "loader/format.h"

namespace tern::writing {
namespace {

template <class T>
using VectorOffset = flatbuffers::Offset<flatbuffers::Vector<T>>;
template <class T>
using TableVector = VectorOffset<flatbuffers::Offset<T>>;

class IndexWriter {
 public:
  IndexWriter(const Program& program, const WrittenStorages& storages)
      : program_(program), storages_(storages), tables_(program.pool) {}

  /// Writes types, expressions and texts last: the other tables add to them.
  std::vector<std::byte> write() {
    const auto functions = write_functions();
    const auto states = write_states();
    const auto storages = write_storages();
    const auto segments = write_segments();
    const auto symbols = write_symbols();
    const auto origins = write_origins();
    const auto metadata = write_metadata();
    const auto packings = write_packings();
    const auto kernels = write_kernels();
    const auto tunings = write_tunings();
    const auto files = write_files();
    const auto types = tables_.write_types(b_);
    const auto expressions = structs(tables_.expressions());
    const auto text_rows = tables_.write_texts(b_);
    b_.Finish(archive::CreateIndex(b_, text_rows, expressions, symbols, segments, storages, types, states, origins,
                                   functions, metadata, packings, kernels, tunings, files),
              archive::IndexIdentifier());
    const auto bytes = std::as_bytes(std::span(b_.GetBufferPointer(), b_.GetSize()));
    if (bytes.size() > kMaxIndexSize) {
      fail(ErrorCode::invalid_argument, fmt::format("the program's index needs {} bytes; an archive allows at most {}",
                                                    bytes.size(), kMaxIndexSize));
    }
    return {bytes.begin(), bytes.end()};
  }

 private:
  /// Omits empty vectors.
  template <class T>
  VectorOffset<T> scalars(const std::vector<T>& v) {
    return v.empty() ? 0 : b_.CreateVector(v);
  }
  template <class T>
  VectorOffset<const T*> structs(const std::vector<T>& v) {
    return v.empty() ? 0 : b_.CreateVectorOfStructs(v);
  }
  template <class T>
  TableVector<T> tables(const std::vector<flatbuffers::Offset<T>>& v) {
    return v.empty() ? 0 : b_.CreateVector(v);
  }

  TableVector<archive::Symbol> write_symbols() {
    std::vector<flatbuffers::Offset<archive::Symbol>> rows;
    for (const Symbol& s : program_.pool.symbols()) {
      rows.push_back(archive::CreateSymbol(b_, tables_.symbol_name(s.name), s.min, s.max));
    }
    return tables(rows);
  }

  TableVector<archive::Segment> write_segments() {
    std::vector<flatbuffers::Offset<archive::Segment>> rows;
    for (const WrittenSegment& s : storages_.segments) {
      const auto codec = s.compressed ? archive::Codec::zstd : archive::Codec::none;
      rows.push_back(archive::CreateSegment(b_, s.offset, s.stored_size, s.size,
                                            static_cast<std::uint32_t>(s.alignment), codec, s.hash.low, s.hash.high,
                                            s.frame_size, scalars(s.frames)));
    }
    return tables(rows);
  }

  TableVector<archive::Storage> write_storages() {
    std::vector<flatbuffers::Offset<archive::Storage>> rows;
    for (const auto& s : storages_.storages) rows.push_back(archive::CreateStorage(b_, s.size, s.segment));
    return tables(rows);
  }

  TableVector<archive::State> write_states() {
    std::vector<flatbuffers::Offset<archive::State>> rows;
    for (const State& s : program_.states) {
      const auto strides = scalars(s.strides);
      rows.push_back(archive::CreateState(b_, tables_.name(s.name), static_cast<archive::StateKind>(s.kind),
                                          tables_.type(s.type), storages_.renumbered[s.storage], strides, s.offset,
                                          s.is_mutable, s.persistent, s.tied));
    }
    return tables(rows);
  }

  TableVector<archive::Packing> write_packings() {
    std::vector<flatbuffers::Offset<archive::Packing>> rows;
    for (const Packing& p : program_.packings) {
      rows.push_back(archive::CreatePacking(b_, storages_.renumbered[p.storage], storages_.renumbered[p.packed],
                                            tables_.text(p.key)));
    }
    return tables(rows);
  }

  TableVector<archive::Kernel> write_kernels() {
    std::vector<flatbuffers::Offset<archive::Kernel>> rows;
    for (const DeviceKernel& k : program_.kernels) {
      rows.push_back(archive::CreateKernel(b_, tables_.name(k.name), kNamedTarget, k.text_low, k.text_high,
                                           storages_.renumbered[k.storage], tables_.name(k.target)));
    }
    return tables(rows);
  }

  TableVector<archive::Tuning> write_tunings() {
    std::vector<flatbuffers::Offset<archive::Tuning>> rows;
    for (const Tuning& t : program_.tunings) {
      std::vector<flatbuffers::Offset<archive::Choice>> choices;
      for (const Tuning::Choice& c : t.choices)
        choices.push_back(archive::CreateChoice(b_, c.function, c.node, tables_.name(c.algorithm)));
      const auto choice_rows = tables(choices);
      rows.push_back(archive::CreateTuning(b_, tables_.name(t.processor), t.threads, choice_rows));
    }
    return tables(rows);
  }

  TableVector<archive::AttachedFile> write_files() {
    std::vector<flatbuffers::Offset<archive::AttachedFile>> rows;
    for (const AttachedFile& f : program_.files)
      rows.push_back(archive::CreateAttachedFile(b_, tables_.name(f.name), storages_.renumbered[f.storage]));
    return tables(rows);
  }

  VectorOffset<const archive::Origin*> write_origins() {
    std::vector<archive::Origin> rows;
    for (const Origin& o : program_.origins) {
      rows.emplace_back(tables_.name(o.op), tables_.name(o.module), tables_.name(o.source));
    }
    return structs(rows);
  }

  VectorOffset<const archive::Metadata*> write_metadata() {
    std::vector<archive::Metadata> rows;
    for (const auto& [key, value] : program_.metadata) rows.emplace_back(tables_.name(key), tables_.text(value));
    return structs(rows);
  }

  flatbuffers::Offset<archive::Attribute> write_attribute(const Attr& a) {
    const auto key = static_cast<std::uint16_t>(a.key);
    if (const auto* dims = std::get_if<Dims>(&a.data)) {
      return archive::CreateAttribute(b_, key, archive::AttributeKind::sizes, scalars(tables_.sizes(*dims)));
    }
    if (const auto* numbers = std::get_if<std::vector<double>>(&a.data)) {
      return archive::CreateAttribute(b_, key, archive::AttributeKind::numbers, 0, scalars(*numbers));
    }
    return archive::CreateAttribute(b_, key, archive::AttributeKind::text, 0, 0,
                                    tables_.text(std::get<std::string>(a.data)));
  }

  flatbuffers::Offset<archive::Annotation> write_annotation(const Annotation& a) {
    const std::uint32_t key = tables_.name(a.key);
    using archive::AnnotationKind;
    if (const auto* i = std::get_if<std::int64_t>(&a.value)) {
      return archive::CreateAnnotation(b_, key, AnnotationKind::integer, *i);
    }
    if (const auto* d = std::get_if<double>(&a.value)) {
      return archive::CreateAnnotation(b_, key, AnnotationKind::number, 0, *d);
    }
    if (const auto* t = std::get_if<bool>(&a.value)) {
      return archive::CreateAnnotation(b_, key, AnnotationKind::boolean, *t ? 1 : 0);
    }
    return archive::CreateAnnotation(b_, key, AnnotationKind::text, 0, 0, tables_.text(std::get<std::string>(a.value)));
  }

  flatbuffers::Offset<archive::Node> write_node(const Node& n) {
    std::vector<flatbuffers::Offset<archive::Attribute>> attributes;
    for (const Attr& a : n.attrs) attributes.push_back(write_attribute(a));
    std::vector<flatbuffers::Offset<archive::Annotation>> annotations;
    for (const Annotation& a : n.annotations) annotations.push_back(write_annotation(a));
    std::vector<archive::Instruction> code;
    for (const Instruction& i : n.expr.code) {
      code.emplace_back(i.integer, i.number, i.imaginary, static_cast<std::uint16_t>(i.op), i.a, i.b, i.c,
                        static_cast<std::uint8_t>(i.dtype));
    }
    const auto inputs = scalars(n.inputs), outputs = scalars(n.outputs);
    const auto functions = scalars(n.functions);
    const auto attribute_rows = tables(attributes);
    const auto instructions = structs(code);
    const auto annotation_rows = tables(annotations);
    return archive::CreateNode(b_, static_cast<std::uint16_t>(n.op), static_cast<std::uint16_t>(n.version), inputs,
                               outputs, attribute_rows, functions, instructions, n.origin, annotation_rows);
  }

  flatbuffers::Offset<archive::Function> write_function(const Function& f) {
    std::vector<archive::Value> values;
    for (const Value& v : f.values) values.emplace_back(tables_.type(v.type), tables_.name(v.name));
    std::vector<flatbuffers::Offset<archive::Input>> inputs;
    for (const FunctionInput& input : f.inputs) {
      inputs.push_back(archive::CreateInput(b_, static_cast<archive::InputKind>(input.kind), input.value, input.state,
                                            tables_.name(input.name), tables_.text(input.constant)));
    }
    std::vector<flatbuffers::Offset<archive::Output>> outputs;
    for (const FunctionOutput& output : f.outputs) {
      outputs.push_back(archive::CreateOutput(b_, static_cast<archive::OutputKind>(output.kind), output.value,
                                              tables_.name(output.name)));
    }
    std::vector<flatbuffers::Offset<archive::WriteBack>> writebacks;
    for (const WriteBack& w : f.writebacks) {
      writebacks.push_back(
          archive::CreateWriteBack(b_, static_cast<archive::WriteBackTarget>(w.target), w.index, w.value));
    }
    std::vector<flatbuffers::Offset<archive::Node>> nodes;
    for (const Node& n : f.nodes) nodes.push_back(write_node(n));
    const auto value_rows = structs(values);
    const auto input_rows = tables(inputs);
    const auto output_rows = tables(outputs);
    const auto writeback_rows = tables(writebacks);
    const auto node_rows = tables(nodes);
    return archive::CreateFunction(b_, tables_.name(f.name), f.entry, value_rows, input_rows, output_rows,
                                   writeback_rows, node_rows, tables_.text(f.in_tree), tables_.text(f.out_tree));
  }

  TableVector<archive::Function> write_functions() {
    std::vector<flatbuffers::Offset<archive::Function>> rows;
    for (const Function& f : program_.functions) rows.push_back(write_function(f));
    return tables(rows);
  }

  const Program& program_;
  const WrittenStorages& storages_;
  IndexTables tables_;
  flatbuffers::FlatBufferBuilder b_{1 << 16};
};

}  // namespace

std::vector<std::byte> index_bytes(const Program& program, const WrittenStorages& storages) {
  return IndexWriter(program, storages).write();
}

}  // namespace tern::writing
