// Converts sentences to vectors of length 1, and finds the nearest for queries: the two programs of
// examples/search/make.py.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bert_tokenizer.h"

/// The rows of a corpus nearest to a query, the nearest first.
struct Nearest {
  std::vector<std::int64_t> rows;
  std::vector<float> cosines;
};

/// Belongs to one thread at a time.
class Embedder {
 public:
  /// `folder` contains search.tern and vocab.txt. Throws tern::Error or std::runtime_error.
  Embedder(const std::string& folder, const tern::PrepareOptions& options);

  /// [texts, width] of float32.
  tern::Tensor embed(std::span<const std::string> texts);
  /// The `count` nearest rows of `corpus` [m, width] for each row of `queries` [n, width]; all rows if m is less.
  std::vector<Nearest> nearest(const tern::Tensor& queries, const tern::Tensor& corpus, std::size_t count);

  const BertTokenizer& tokenizer() const { return tokenizer_; }
  /// Largest number of tokens of a text.
  std::size_t limit() const { return limit_; }

 private:
  Embedder(const tern::Model& model, const std::string& folder, const tern::PrepareOptions& options);
  tern::Tensor embed_batch(std::span<const std::vector<std::int64_t>* const> texts);

  std::size_t limit_;
  BertTokenizer tokenizer_;
  tern::Session session_;
};
