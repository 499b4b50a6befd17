// Texts of concurrent calls wait in one queue; the call that finds no run under way makes the next one.
#include <fmt/format.h>
#include <tern/cancel.h>
#include <tern/error.h>
#include <tern/text_embedder.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "generation/metadata_numbers.h"
#include "generation/names.h"

namespace tern {
namespace {

struct EmbeddingFacts {
  std::int64_t dimensions = 0, context = 0;
  bool cuts = false;
};

EmbeddingFacts read_embedding_facts(const Model& model) {
  const std::string* const version = llm::find_fact(model, embedding::kVersionKey);
  if (version == nullptr) {
    fail(ErrorCode::invalid_argument,
         "the archive does not embed texts; make it by 'tern export --embeddings' or tern.export_embeddings()");
  }
  if (*version != embedding::kVersion) {
    fail(ErrorCode::unsupported, fmt::format("the archive follows version {} of the rules for embeddings; this version "
                                             "of Tern knows {}",
                                             *version, embedding::kVersion));
  }
  return {llm::positive_number(model, embedding::kDimensionsKey), llm::positive_number(model, embedding::kContextKey),
          llm::find_fact(model, embedding::kCutsKey) != nullptr};
}

/// A text of a call under way.
struct WaitingText {
  std::span<const std::int64_t> tokens;
  float* vector;
  bool* is_done;
  std::exception_ptr* problem;  ///< takes a failure of the text
};

/// Waiting texts of one call. The end of the call withdraws them, an exception's too.
struct CallTexts {
  std::list<WaitingText>& waiting;
  const std::exception_ptr* problem;
  ~CallTexts() { withdraw(); }
  /// Removes texts that no run holds yet; they count as done.
  void withdraw() {
    waiting.remove_if([this](const WaitingText& text) {
      const bool is_own = text.problem == problem;
      if (is_own) *text.is_done = true;
      return is_own;
    });
  }
};

/// Texts are padded to a multiple of this length: each size of a run makes a memory plan.
constexpr std::size_t kLengthStep = 8;

constexpr std::chrono::milliseconds kAskAgain(100);

}  // namespace

class TextEmbedder::Impl {
 public:
  Impl(const Model& model, const TextEmbedderOptions& options)
      : facts_(read_embedding_facts(model)), options_(options), session_(model.prepare(options.prepare)) {
    tokenizer_ = options.tokenizer;
    if (!tokenizer_ && has_tokenizer(model)) tokenizer_ = Tokenizer::from_model(model);
    if (options.run_tokens < 1) fail(ErrorCode::invalid_argument, "TextEmbedderOptions::run_tokens must be 1 or more");
  }

  std::vector<float> embed(const std::vector<std::vector<std::int64_t>>& texts, const std::function<bool()>& goes_on) {
    for (const std::vector<std::int64_t>& text : texts) check(text);
    const auto width = static_cast<std::size_t>(facts_.dimensions);
    std::vector<float> vectors(texts.size() * width);
    const std::unique_ptr<bool[]> done = std::make_unique<bool[]>(texts.size());
    std::exception_ptr problem;
    std::unique_lock lock(mutex_);
    CallTexts own_texts{waiting_, &problem};
    for (std::size_t i = 0; i < texts.size(); ++i)
      waiting_.push_back({texts[i], vectors.data() + i * width, &done[i], &problem});
    const auto are_done = [&] { return std::all_of(done.get(), done.get() + texts.size(), [](bool d) { return d; }); };
    bool has_left = false;
    while (!are_done()) {
      if (!has_left && goes_on && !goes_on()) {
        has_left = true;
        own_texts.withdraw();
        continue;
      }
      // A call that left waits for the run that holds its texts.
      if (is_running_ || has_left) {
        queue_changed_.wait_for(lock, kAskAgain);
        continue;
      }
      const std::vector<WaitingText> batch = take_batch();
      is_running_ = true;
      lock.unlock();
      const auto begin = std::chrono::steady_clock::now();
      run_each(batch);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      lock.lock();
      is_running_ = false;
      ++stats_.runs;
      stats_.run_seconds += seconds;
      for (const WaitingText& text : batch) *text.is_done = true;
      queue_changed_.notify_all();
    }
    if (has_left) throw Cancelled("the call ended before its texts were embedded");
    if (problem) std::rethrow_exception(problem);
    stats_.texts += texts.size();
    for (const std::vector<std::int64_t>& text : texts) stats_.tokens += text.size();
    return vectors;
  }

  std::vector<std::int64_t> cut(std::vector<std::int64_t> tokens) const {
    const auto max_tokens = static_cast<std::size_t>(facts_.context);
    if (tokens.size() <= max_tokens) return tokens;
    // Tokens that the rule adds behind a text: those of the empty text, which also hold the ones before it.
    const std::vector<std::int64_t> affix_tokens = tokenizer_ ? tokenizer_->encode("") : std::vector<std::int64_t>();
    const auto prefix_size =
        static_cast<std::size_t>(std::ranges::mismatch(affix_tokens, tokens).in1 - affix_tokens.begin());
    const std::size_t suffix_size = std::min(affix_tokens.size() - prefix_size, max_tokens);
    if (!std::equal(affix_tokens.end() - static_cast<std::ptrdiff_t>(suffix_size), affix_tokens.end(),
                    tokens.end() - static_cast<std::ptrdiff_t>(suffix_size))) {
      tokens.resize(max_tokens);
      return tokens;
    }
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(max_tokens - suffix_size),
                 tokens.end() - static_cast<std::ptrdiff_t>(suffix_size));
    return tokens;
  }

  TextEmbedderStats stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  const EmbeddingFacts& facts() const { return facts_; }
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }

 private:
  void check(const std::vector<std::int64_t>& text) const {
    if (text.empty()) fail(ErrorCode::invalid_argument, "a text has no tokens");
    if (static_cast<std::int64_t>(text.size()) > facts_.context) {
      fail(ErrorCode::invalid_argument, fmt::format("a text has {} tokens, and the model reads at most {}; divide the "
                                                    "text, or let the rest be cut off",
                                                    text.size(), facts_.context));
    }
    if (std::ranges::any_of(text, [](std::int64_t token) { return token < 0; }))
      fail(ErrorCode::invalid_argument, "a text has a negative token id");
  }

  /// The first waiting text, and others of nearly its length, so that little is padding.
  std::vector<WaitingText> take_batch() {
    std::vector<std::list<WaitingText>::iterator> order;
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) order.push_back(at);
    const std::size_t first = order[0]->tokens.size();
    const auto distance = [&](const auto& waiting_text) {
      return waiting_text->tokens.size() > first ? waiting_text->tokens.size() - first
                                                 : first - waiting_text->tokens.size();
    };
    std::ranges::stable_sort(order, {}, distance);
    std::vector<WaitingText> batch;
    batch.reserve(order.size());  // no allocation may fail between the lists
    std::size_t longest = 0;
    for (const auto& waiting_text : order) {
      const std::size_t padded_length = std::max(longest, waiting_text->tokens.size());
      const bool has_room = padded_length * (batch.size() + 1) <= static_cast<std::size_t>(options_.run_tokens);
      if (!batch.empty() && !has_room) break;
      longest = padded_length;
      batch.push_back(*waiting_text);
      waiting_.erase(waiting_text);
    }
    return batch;
  }

  /// A failed run is repeated text by text, so that a wrong token of a call leaves the others alone.
  void run_each(const std::vector<WaitingText>& batch) {
    try {
      run(batch);
    } catch (const std::exception&) {
      for (const WaitingText& text : batch) {
        try {
          run({&text, 1});
        } catch (const std::exception&) {
          *text.problem = std::current_exception();
        }
      }
    }
  }

  void run(std::span<const WaitingText> batch) {
    std::size_t longest = 0;
    for (const WaitingText& text : batch) longest = std::max(longest, text.tokens.size());
    longest =
        std::min((longest + kLengthStep - 1) / kLengthStep * kLengthStep, static_cast<std::size_t>(facts_.context));
    std::vector<std::int64_t> tokens(batch.size() * longest, 0), lengths;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::ranges::copy(batch[i].tokens, tokens.begin() + static_cast<std::ptrdiff_t>(i * longest));
      lengths.push_back(static_cast<std::int64_t>(batch[i].tokens.size()));
    }
    const auto texts = static_cast<std::int64_t>(batch.size());
    const Tensor inputs[] = {
        Tensor::borrow(std::as_const(tokens).data(), DType::i64, {texts, static_cast<std::int64_t>(longest)}),
        Tensor::borrow(std::as_const(lengths).data(), DType::i64, {texts})};
    const auto width = static_cast<std::size_t>(facts_.dimensions);
    vectors_.resize(batch.size() * width);
    const Tensor outputs[] = {Tensor::borrow(vectors_.data(), DType::f32, {texts, facts_.dimensions})};
    session_.run_into(embedding::kEmbed, inputs, outputs);
    for (std::size_t i = 0; i < batch.size(); ++i)
      std::copy_n(vectors_.begin() + static_cast<std::ptrdiff_t>(i * width), width, batch[i].vector);
  }

  const EmbeddingFacts facts_;
  const TextEmbedderOptions options_;
  std::optional<Tokenizer> tokenizer_;

  // Used by the call that makes a run:
  Session session_;
  std::vector<float> vectors_;

  mutable std::mutex mutex_;  ///< guards the members below, and the results of waiting texts until they are taken
  std::condition_variable queue_changed_;
  std::list<WaitingText> waiting_;
  bool is_running_ = false;
  TextEmbedderStats stats_;
};

TextEmbedder::TextEmbedder(const Model& model, const TextEmbedderOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
TextEmbedder::~TextEmbedder() = default;

std::vector<float> TextEmbedder::embed(const std::vector<std::vector<std::int64_t>>& texts,
                                       const std::function<bool()>& goes_on) {
  return impl_->embed(texts, goes_on);
}
std::vector<std::int64_t> TextEmbedder::encode(std::string_view text) const {
  if (tokenizer() == nullptr) {
    fail(ErrorCode::invalid_argument,
         "the archive has no tokenizer; export the model with one, or give token ids (docs/embeddings.md)");
  }
  return tokenizer()->encode(text);
}
std::vector<std::int64_t> TextEmbedder::cut(std::vector<std::int64_t> tokens) const {
  return impl_->cut(std::move(tokens));
}
TextEmbedderStats TextEmbedder::stats() const {
  return impl_->stats();
}
std::int64_t TextEmbedder::dimensions() const {
  return impl_->facts().dimensions;
}
std::int64_t TextEmbedder::context() const {
  return impl_->facts().context;
}
bool TextEmbedder::cuts() const {
  return impl_->facts().cuts;
}
const Tokenizer* TextEmbedder::tokenizer() const {
  return impl_->tokenizer();
}

bool embeds_texts(const Model& model) {
  return llm::find_fact(model, embedding::kVersionKey) != nullptr;
}

std::vector<float> shortened_embedding(std::vector<float> vector, std::size_t dimensions) {
  vector.resize(std::min(dimensions, vector.size()));
  const double length = std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
  for (float& x : vector) x = length > 0 ? static_cast<float>(x / length) : x;
  return vector;
}

}  // namespace tern
