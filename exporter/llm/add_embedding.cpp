#include "exporter/llm/add_embedding.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exporter/builder.h"
#include "generation/names.h"
#include "schema/kinds.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

constexpr std::int64_t kLongestText = std::int64_t{1} << 20;

[[noreturn]] void refuse_embedding(const std::string& problem) {
  fail(ErrorCode::invalid_argument,
       fmt::format(
           "--embeddings: {}; export a program (tokens int64[t, n], lengths int64[t]) -> float32[t, dimensions], "
           "as tern.export_embeddings() does (docs/embeddings.md)",
           problem));
}

Function& only_function(Program& program) {
  Function* found = nullptr;
  for (Function& f : program.functions) {
    if (!f.entry) continue;
    if (found != nullptr) refuse_embedding("the file has several programs");
    found = &f;
  }
  if (found == nullptr) refuse_embedding("the file has no program");
  return *found;
}

std::vector<FunctionInput*> user_inputs(Function& f) {
  std::vector<FunctionInput*> found;
  for (FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::user) found.push_back(&input);
  }
  return found;
}

}  // namespace

EmbeddingReport add_embedding(Program& program, const EmbeddingOptions& options) {
  Function& f = only_function(program);
  const std::vector<FunctionInput*> inputs = user_inputs(f);
  const auto type = [&](ValueId v) -> const TensorType& { return f.values[static_cast<std::size_t>(v)].type; };
  if (inputs.size() != 2) refuse_embedding(fmt::format("the program has {} inputs", inputs.size()));
  const TensorType tokens = type(inputs[0]->value), lengths = type(inputs[1]->value);
  if (tokens.dtype != DType::i64 || tokens.rank() != 2 || lengths.dtype != DType::i64 || lengths.rank() != 1)
    refuse_embedding("the inputs have other types");
  const int texts = program.pool.symbol_of(tokens.shape[0]), count = program.pool.symbol_of(tokens.shape[1]);
  if (texts < 0 || count < 0 || lengths.shape[0] != tokens.shape[0])
    refuse_embedding("the sizes of the inputs are not dynamic");
  if (f.outputs.size() != 1 || f.outputs[0].kind != FunctionOutput::Kind::tensor)
    refuse_embedding("the program has not one result");
  const TensorType result = type(f.outputs[0].value);
  if (!is_floating(result.dtype) || result.rank() != 2 || result.shape[0] != tokens.shape[0] ||
      !result.shape[1].is_const())
    refuse_embedding("the result has another type");
  const std::int64_t longest = std::min(program.pool.symbols()[static_cast<std::size_t>(count)].max, kLongestText);
  if (options.context < 0 || options.context > longest)
    refuse_embedding(
        fmt::format("--context {}: the program takes texts of at most {} tokens", options.context, longest));
  const EmbeddingReport report{options.context > 0 ? options.context : longest, result.shape[1].value()};

  const auto index = static_cast<std::uint32_t>(&f - program.functions.data());
  Builder b(program, index);
  const std::size_t node_count = b.function().nodes.size();
  const ValueId lengths_fit = b.expr("l >= 1 && l <= n", {{"l", inputs[1]->value}, {"n", b.from_dim(tokens.shape[1])}},
                                     DType::i64, DType::boolean);
  b.add_all(Op::assert_true, {b.reduce(lengths_fit, "all", {0}, false, DType::boolean)},
            {attr_text(AttrKey::text, "lengths has a number outside 1 to the number of tokens")});
  Function& function = b.function();
  std::rotate(function.nodes.begin(), function.nodes.begin() + static_cast<std::ptrdiff_t>(node_count),
              function.nodes.end());
  const ValueId vectors = b.cast(function.outputs[0].value, DType::f32);
  function.name = embedding::kEmbed;
  const std::vector<FunctionInput*> inputs_in_order = user_inputs(function);
  inputs_in_order[0]->name = embedding::kTokens;
  inputs_in_order[1]->name = embedding::kLengths;
  function.outputs = {{FunctionOutput::Kind::tensor, vectors, std::string(embedding::kEmbeddings)}};
  function.in_tree.clear();
  function.out_tree.clear();
  const auto note = [&](std::string_view key, const std::string& value) { program.metadata.emplace_back(key, value); };
  note(embedding::kVersionKey, std::string(embedding::kVersion));
  note(embedding::kDimensionsKey, std::to_string(report.dimensions));
  note(embedding::kContextKey, std::to_string(report.context));
  if (options.cuts) note(embedding::kCutsKey, "1");
  remove_dead_code(program);
  return report;
}

}  // namespace tern
