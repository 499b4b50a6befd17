#include <fmt/format.h>
#include <tern/tern.h>

#include "loader/archive.h"
#include "runtime/prepared.h"

namespace tern {
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

}  // namespace

Model Model::open(const std::string& path, const OpenOptions& options) {
  return Model(open_archive(path, options));
}
Model Model::from_bytes(std::span<const std::byte> bytes, const OpenOptions& options) {
  return Model(open_archive(bytes, options));
}

std::vector<FunctionInfo> Model::functions() const {
  std::vector<FunctionInfo> result;
  for (const Function& f : program_->functions) {
    if (!f.entry) continue;
    FunctionInfo info;
    info.name = f.name;
    for (const FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::state) continue;
      ValueInfo v = value_info(*program_, f, in.value, in.name);
      if (in.kind == FunctionInput::Kind::none) v.fixed = in.constant.empty() ? "None" : in.constant;
      info.inputs.push_back(std::move(v));
    }
    for (const FunctionOutput& out : f.outputs) info.outputs.push_back(value_info(*program_, f, out.value, out.name));
    result.push_back(std::move(info));
  }
  return result;
}

std::vector<StateInfo> Model::states() const {
  std::vector<StateInfo> result;
  for (const State& s : program_->states) {
    StateInfo info{s.name, s.type.dtype, {}, s.kind == State::Kind::parameter, s.is_mutable};
    for (Dim d : s.type.shape) info.sizes.push_back(d.value());
    result.push_back(std::move(info));
  }
  return result;
}

Prepared Model::prepare(const PrepareOptions& options) const {
  return Prepared(prepare_program(program_, options));
}

}  // namespace tern
