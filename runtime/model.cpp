#include <fmt/format.h>
#include <tern/tern.h>

#include <algorithm>
#include <mutex>

#include "loader/archive.h"
#include "loader/utf8.h"
#include "runtime/prepared.h"
#include "runtime/weights/replace.h"
#include "schema/attached_file.h"

namespace tern {

/// Lists describing a model, each created on first request.
struct ModelInfo {
  std::mutex mutex;
  std::optional<std::vector<FunctionInfo>> functions;
  std::optional<std::vector<StateInfo>> states;
  std::optional<std::vector<SymbolInfo>> symbols;
  std::optional<std::vector<AnnotationInfo>> annotations;
  std::optional<std::vector<FileInfo>> files;
};

namespace {

ValueInfo value_info(const Program& program, const Function& f, ValueId v, const std::string& name) {
  ValueInfo info;
  info.name = name;
  if (v == kNoValue) return info;
  const TensorType& type = f.values[static_cast<std::size_t>(v)].type;
  info.dtype = type.dtype;
  for (Dim d : type.shape) {
    const Interval bounds = program.pool.bounds(d);
    SizeInfo size{
        program.pool.text(d), d.is_const(), d.is_const() ? d.value() : 0, std::max<std::int64_t>(bounds.min, 0), {}};
    if (bounds.max != kNoBound) size.max = bounds.max;
    info.sizes.push_back(std::move(size));
  }
  return info;
}

std::vector<FunctionInfo> list_functions(const Program& program) {
  std::vector<FunctionInfo> result;
  for (const Function& f : program.functions) {
    if (!f.entry) continue;
    FunctionInfo info;
    info.name = f.name;
    for (const FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::state) continue;
      ValueInfo v = value_info(program, f, in.value, in.name);
      if (in.kind == FunctionInput::Kind::none) v.fixed = in.constant.empty() ? "None" : in.constant;
      info.inputs.push_back(std::move(v));
    }
    for (const FunctionOutput& out : f.outputs) info.outputs.push_back(value_info(program, f, out.value, out.name));
    result.push_back(std::move(info));
  }
  return result;
}

std::vector<StateInfo> list_states(const Program& program) {
  std::vector<StateInfo> result;
  const std::vector<bool> replaceable = replaceable_states(program);
  for (std::size_t i = 0; i < program.states.size(); ++i) {
    const State& s = program.states[i];
    StateInfo info{s.name, s.type.dtype, {}, s.kind == State::Kind::parameter, s.is_mutable, replaceable[i]};
    for (Dim d : s.type.shape) info.sizes.push_back(d.value());
    result.push_back(std::move(info));
  }
  return result;
}

std::vector<SymbolInfo> list_symbols(const Program& program) {
  std::vector<SymbolInfo> result;
  for (const Symbol& s : program.pool.symbols()) {
    result.push_back({s.name, s.min, {}});
    if (s.max != kNoBound) result.back().max = s.max;
  }
  return result;
}

std::string text_of(const decltype(Annotation::value)& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return std::to_string(std::get<std::int64_t>(value));
}

std::vector<AnnotationInfo> list_annotations(const Program& program) {
  std::vector<AnnotationInfo> result;
  for (const Function& f : program.functions) {
    for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
      for (const Annotation& a : f.nodes[i].annotations)
        result.push_back({f.name, i, std::string(op_name(f.nodes[i].op)), a.key, text_of(a.value)});
    }
  }
  return result;
}

std::vector<FileInfo> list_files(const Program& program) {
  std::vector<FileInfo> result;
  for (const AttachedFile& f : program.files) result.push_back({f.name, program.storages[f.storage].size});
  return result;
}

template <class T>
const std::vector<T>& once(ModelInfo& info, std::optional<std::vector<T>>& list, const Program& program,
                           std::vector<T> (*make)(const Program&)) {
  const std::lock_guard lock(info.mutex);
  if (!list) list = make(program);
  return *list;
}

void check_range(const char* option, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    fail(ErrorCode::invalid_argument,
         fmt::format("PrepareOptions::{} is {}, but must be {} to {}", option, value, least, most));
}

}  // namespace

Model::Model(std::shared_ptr<const Program> program)
    : program_(std::move(program)), info_(std::make_shared<ModelInfo>()) {}

Model Model::open(const std::string& path, const OpenOptions& options) {
  return Model(open_archive(path, options));
}
Model Model::from_bytes(std::span<const std::byte> bytes, const OpenOptions& options) {
  return Model(open_archive(bytes, options));
}

const std::vector<FunctionInfo>& Model::functions() const& {
  return once(*info_, info_->functions, *program_, list_functions);
}
const std::vector<StateInfo>& Model::states() const& {
  return once(*info_, info_->states, *program_, list_states);
}
const std::vector<SymbolInfo>& Model::symbols() const& {
  return once(*info_, info_->symbols, *program_, list_symbols);
}
const std::vector<AnnotationInfo>& Model::annotations() const& {
  return once(*info_, info_->annotations, *program_, list_annotations);
}
const std::vector<FileInfo>& Model::files() const& {
  return once(*info_, info_->files, *program_, list_files);
}
std::string_view Model::file(std::string_view name) const& {
  const AttachedFile* found = find_file(*program_, name);
  if (found == nullptr) {
    std::string names;
    for (const AttachedFile& f : program_->files) names += (names.empty() ? "" : ", ") + f.name;
    fail(ErrorCode::invalid_argument,
         fmt::format("the archive has no file '{}'; its files: {}", name, names.empty() ? std::string("none") : names));
  }
  const std::uint64_t size = program_->storages[found->storage].size;
  if (size == 0) return {};
  const auto bytes = program_->source->bytes(found->storage).first(size);
  const std::string_view contents(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_text_file(name) && !is_valid_text(contents))
    fail(ErrorCode::bad_file, fmt::format("file '{}' of the archive must be UTF-8 without zero bytes: export the model "
                                          "again (rule files.text)",
                                          name));
  return contents;
}
const std::vector<std::pair<std::string, std::string>>& Model::metadata() const& {
  return program_->metadata;
}

Precision PreparedModel::precision() const {
  if (!impl_->rounds) return Precision::exported;
  return impl_->options.precision == Precision::float16 ? Precision::float16 : Precision::bfloat16;
}

PreparedModel Model::prepare(const PrepareOptions& options) const {
  check_range("threads", options.threads, 0, 1024);
  check_range("cached_plans", options.cached_plans, 1, 65536);
  check_range("max_iterations", options.max_iterations, 0, INT64_MAX);
  check_range("precision", static_cast<int>(options.precision), 0, static_cast<int>(Precision::float16));
  if (!(options.max_seconds >= 0))
    fail(ErrorCode::invalid_argument, "PrepareOptions::max_seconds must not be negative; 0 means no limit");
  return PreparedModel(prepare_program(program_, options));
}

}  // namespace tern
