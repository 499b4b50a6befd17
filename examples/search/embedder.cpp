#include "embedder.h"

#include <algorithm>
#include <numeric>

namespace {

constexpr std::size_t kBatch = 32;
/// The model was trained on texts of this length (sentence_bert_config.json).
constexpr std::int64_t kTrainedTokens = 256;

/// The program's largest number of tokens.
std::size_t max_tokens(const tern::Model& model) {
  for (const tern::FunctionInfo& function : model.functions()) {
    if (function.name != "embed") continue;
    const tern::SizeInfo& tokens = function.inputs.at(0).sizes.at(1);
    return static_cast<std::size_t>(std::min(tokens.max.value_or(kTrainedTokens), kTrainedTokens));
  }
  tern::fail(tern::ErrorCode::invalid_argument,
             "the archive has no function 'embed': make it by examples/search/make.sh");
}

}  // namespace

Embedder::Embedder(const std::string& folder, const tern::PrepareOptions& options)
    : Embedder(tern::Model::open(folder + "/search.tern"), folder, options) {}

Embedder::Embedder(const tern::Model& model, const std::string& folder, const tern::PrepareOptions& options)
    : limit_(max_tokens(model)), tokenizer_(folder + "/vocab.txt"), session_(model.prepare(options)) {}

tern::Tensor Embedder::embed(std::span<const std::string> texts) {
  std::vector<std::vector<std::int64_t>> tokens;
  tokens.reserve(texts.size());
  for (const std::string& text : texts) tokens.push_back(tokenizer_.encode(text, limit_));
  // Texts of similar length share a batch, to reduce padding.
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tokens[a].size() < tokens[b].size(); });

  tern::Tensor embeddings;
  for (std::size_t begin = 0; begin < order.size(); begin += kBatch) {
    std::vector<const std::vector<std::int64_t>*> batch;
    for (std::size_t i = begin; i < std::min(begin + kBatch, order.size()); ++i) batch.push_back(&tokens[order[i]]);
    const tern::Tensor vectors = embed_batch(batch);
    const auto width = static_cast<std::size_t>(vectors.sizes()[1]);
    if (begin == 0)
      embeddings = tern::Tensor(tern::DType::f32, {static_cast<std::int64_t>(texts.size()), vectors.sizes()[1]});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto row = vectors.span<float>().subspan(i * width, width);
      std::copy(row.begin(), row.end(),
                embeddings.span<float>().begin() + static_cast<std::ptrdiff_t>(order[begin + i] * width));
    }
  }
  return embeddings;
}

/// A row for each text: its numbers, then padding, hidden by the mask. The result is valid until the next run.
tern::Tensor Embedder::embed_batch(std::span<const std::vector<std::int64_t>* const> texts) {
  const std::size_t width = texts.back()->size();  // the longest
  const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(texts.size()), static_cast<std::int64_t>(width)};
  tern::Tensor ids(tern::DType::i64, sizes), mask(tern::DType::i64, sizes);
  std::fill(ids.span<std::int64_t>().begin(), ids.span<std::int64_t>().end(), tokenizer_.padding());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t count = texts[i]->size();
    std::copy(texts[i]->begin(), texts[i]->end(), ids.span<std::int64_t>().subspan(i * width).begin());
    std::fill_n(mask.span<std::int64_t>().subspan(i * width).begin(), count, 1);
  }
  return session_.run("embed", std::vector<tern::Tensor>{ids, mask})[0];
}

std::vector<Nearest> Embedder::nearest(const tern::Tensor& queries, const tern::Tensor& corpus, std::size_t count) {
  tern::Tensor result_count(tern::DType::i64, {});
  result_count.span<std::int64_t>()[0] = std::min(static_cast<std::int64_t>(count), corpus.sizes()[0]);
  const auto& results = session_.run("nearest", std::vector<tern::Tensor>{queries, corpus, result_count});
  const auto cosines = results[0].span<const float>();
  const auto rows = results[1].span<const std::int64_t>();
  std::vector<Nearest> nearest(static_cast<std::size_t>(queries.sizes()[0]));
  const auto results_per_query = static_cast<std::size_t>(result_count.span<std::int64_t>()[0]);
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    const auto query_rows = rows.subspan(i * results_per_query, results_per_query);
    const auto query_cosines = cosines.subspan(i * results_per_query, results_per_query);
    nearest[i] = {{query_rows.begin(), query_rows.end()}, {query_cosines.begin(), query_cosines.end()}};
  }
  return nearest;
}
