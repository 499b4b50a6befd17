// Merges low-rank adapters into weights: W + scale * B @ A (Hu et al., https://arxiv.org/abs/2106.09685).
#include <tern/error.h>

#include <algorithm>
#include <map>

#include "dtypes/convert.h"
#include "kernels/kernel.h"
#include "runtime/weights/replace.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/state_names.h"
#include "threads/parallel.h"

namespace tern {
namespace {

struct LoraPair {
  const FileTensor *a = nullptr, *b = nullptr;
};

bool is_adapter_dtype(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

/// A name pattern: the text around "{}".
struct Pattern {
  std::string_view prefix, suffix;
  explicit Pattern(std::string_view text) {
    const std::size_t at = text.find("{}");
    if (at == std::string_view::npos)
      fail(ErrorCode::invalid_argument, "LoraOptions: the pattern '" + std::string(text) + "' has no {}");
    prefix = text.substr(0, at);
    suffix = text.substr(at + 2);
  }
  bool match(std::string_view name, std::string& module) const {
    if (name.size() < prefix.size() + suffix.size() || !name.starts_with(prefix) || !name.ends_with(suffix))
      return false;
    module = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    return true;
  }
};

std::vector<float> floats(const FileTensor& t) {
  std::vector<float> values(t.bytes.size() / static_cast<std::size_t>(element_size(t.dtype)));
  convert(t.bytes.data(), t.dtype, values.data(), DType::f32, static_cast<std::int64_t>(values.size()));
  return values;
}

std::vector<float> transpose(const std::vector<float>& m, std::int64_t rows, std::int64_t columns) {
  std::vector<float> result(m.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      result[static_cast<std::size_t>(c * rows + r)] = m[static_cast<std::size_t>(r * columns + c)];
  }
  return result;
}

/// Adds scale * left @ right to a matrix of `dtype`; all are row-major, left is [rows, rank].
void add_product(std::span<std::byte> to, DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t rank,
                 const std::vector<float>& left, const std::vector<float>& right, float scale) {
  const auto pitch = static_cast<std::size_t>(columns * element_size(dtype));
  parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> sum(static_cast<std::size_t>(columns)), old(sum.size());
    for (std::int64_t r = begin; r < end; ++r) {
      std::byte* const line = to.data() + static_cast<std::size_t>(r) * pitch;
      std::ranges::fill(sum, 0.0f);
      float* const s = sum.data();
      for (std::int64_t k = 0; k < rank; ++k) {
        const float l = left[static_cast<std::size_t>(r * rank + k)];
        const float* const x = right.data() + k * columns;
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c) s[c] += l * x[c];
      }
      convert(line, dtype, old.data(), DType::f32, columns);
      for (std::size_t c = 0; c < sum.size(); ++c) old[c] += scale * sum[c];
      convert(old.data(), DType::f32, line, dtype, columns);
    }
  });
}

/// Returns the reason for a mismatch between adapter and state; empty if they match.
std::string mismatch(const State& s, const LoraPair& p, bool transposed) {
  if (!is_adapter_dtype(s.type.dtype) || s.type.rank() != 2) return "is not a matrix of float32, float16 or bfloat16";
  if (p.a == nullptr || p.b == nullptr) return p.a == nullptr ? "has no A in the file" : "has no B in the file";
  if (!is_adapter_dtype(p.a->dtype) || !is_adapter_dtype(p.b->dtype) || p.a->sizes.size() != 2 ||
      p.b->sizes.size() != 2)
    return "has an A or B that is not a matrix of float32, float16 or bfloat16";
  const std::int64_t out = s.type.shape[transposed ? 1 : 0].value(), in = s.type.shape[transposed ? 0 : 1].value();
  if (p.a->sizes[1] != in || p.b->sizes[0] != out || p.a->sizes[0] != p.b->sizes[1])
    return "is [" + std::to_string(out) + " out, " + std::to_string(in) + " in], but A is [" +
           std::to_string(p.a->sizes[0]) + ", " + std::to_string(p.a->sizes[1]) + "] and B is [" +
           std::to_string(p.b->sizes[0]) + ", " + std::to_string(p.b->sizes[1]) + "]";
  return {};
}

/// True if a lookup of rows, as of an embedding, reads the state's bytes under any of its names.
bool is_looked_up(const Program& program, const State& s) {
  for (const Function& f : program.functions) {
    for (const FunctionInput& in : f.inputs) {
      if (in.kind != FunctionInput::Kind::state || program.states[in.state].storage != s.storage) continue;
      const auto looks_up = [&](const Node& n) { return n.op == Op::index_select && n.inputs[0] == in.value; };
      if (in.value != kNoValue && std::ranges::any_of(f.nodes, looks_up)) return true;
    }
  }
  return false;
}

}  // namespace

Model Model::with_lora(const std::string& path, const LoraOptions& options) const {
  const Pattern a(options.a), b(options.b), weight(options.weight);
  const WeightFile adapter = open_weights(path);
  const Program& program = *program_;
  NameList unknown, wrong;
  std::map<std::string, LoraPair> pairs;  // keyed by module
  for (const auto& [name, tensor] : adapter.tensors) {
    std::string module;
    if (a.match(name, module)) {
      pairs[module].a = &tensor;
    } else if (b.match(name, module)) {
      pairs[module].b = &tensor;
    } else {
      unknown.add(name);
    }
  }
  const std::vector<bool> replaceable = replaceable_states(program);
  WeightReplacement replacement(program, nullptr);
  std::vector<bool> done(program.storages.size());
  std::vector<std::string> names;
  for (const auto& [module, pair] : pairs)
    names.push_back(std::string(weight.prefix) + module + std::string(weight.suffix));
  const ModulePrefix prefix = find_prefix(program, names);
  for (const auto& [module, pair] : pairs) {
    const std::string in_file = std::string(weight.prefix) + module + std::string(weight.suffix);
    const std::string prefixed = prefix.state_name(in_file), name = prefixed.empty() ? in_file : prefixed;
    const auto found = std::ranges::find(program.states, name, &State::name);
    const auto state = static_cast<std::uint32_t>(found - program.states.begin());
    if (found == program.states.end() || !replaceable[state]) {
      wrong.add("'" + name +
                (is_folded(program, name)
                     ? std::string("' was merged into other weights ('tern export --no-fold' keeps it)")
                 : found == program.states.end() ? "' is not a state of the program" + nearest_state(program, name)
                                                 : "' cannot be replaced"));
      continue;
    }
    std::string why = mismatch(*found, pair, options.transposed);
    if (done[found->storage]) why = "is tied to another weight that the adapter changes";
    if (why.empty() && is_looked_up(program, *found))
      why =
          "is also an embedding, which the adapter would change too; export a model whose layer has a weight of its "
          "own: model." +
          module + ".weight = torch.nn.Parameter(model." + module + ".weight.detach().clone())";
    if (!why.empty()) {
      wrong.add("'" + name + "' " + why);
      continue;
    }
    done[found->storage] = true;
    const std::int64_t rows = found->type.shape[0].value(), columns = found->type.shape[1].value();
    const std::int64_t rank = pair.a->sizes[0];
    const std::vector<float> down = floats(*pair.a), up = floats(*pair.b);
    TensorView from, to;
    from.dtype = found->type.dtype;
    from.rank = 2;
    from.sizes[0] = rows;
    from.sizes[1] = columns;
    to = from;
    make_contiguous(to);
    std::ranges::copy(found->strides, from.strides.begin());
    MemoryPages merged(static_cast<std::size_t>(to.numel() * element_size(to.dtype)));
    if (merged.bytes().empty()) continue;
    from.data =
        const_cast<std::byte*>(program.source->bytes(found->storage).data()) + found->offset * element_size(from.dtype);
    to.data = merged.bytes().data();
    copy_strided(from, to);
    add_product(merged.bytes(), to.dtype, rows, columns, rank, options.transposed ? transpose(down, rank, rows) : up,
                options.transposed ? transpose(up, columns, rank) : down, static_cast<float>(options.scale));
    const std::span<const std::byte> bytes = merged.bytes();
    replacement.set(state, bytes, std::move(merged));
  }
  std::string message;
  if (!unknown.empty()) message += "\n  no pattern of LoraOptions matches: " + unknown.text();
  if (!wrong.empty()) message += "\n  " + wrong.text();
  if (!message.empty()) fail(ErrorCode::invalid_argument, path + ": the adapter does not fit the program:" + message);
  return Model(replacement.finish());
}

}  // namespace tern
