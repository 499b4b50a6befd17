// Answers many requests at once by a language model: an archive of `tern export --llm`.
//
//   tern::TextEngine engine(tern::Model::open("llm.tern"));
//   tern::TextAnswer answer = engine.submit({.prompt = engine.encode("Once upon a time"), .max_tokens = 100});
//   while (std::optional<tern::TextPiece> piece = answer.next()) std::cout << piece->text << std::flush;
//
// The engine's thread runs the model. Requests join the running batch when a slot is free, and leave at their end.
// A request that begins like another one, present or past, copies or keeps the cache of the common tokens.
// Library: tern::text, as tern/text.h.
// Errors: every function throws tern::Error; a request that fails later ends with TextFinish::failed.
// Threads: any thread may submit requests. A TextAnswer belongs to one thread at a time; cancel() may be called by any.
#pragma once

#include <tern/tern.h>
#include <tern/text.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern {

/// Choice of the next token. The steps apply in the order of the members, as in transformers' generate(); the defaults
/// change nothing. `temperature` 0 takes the most likely token.
struct TextSampling {
  std::vector<std::pair<std::int64_t, double>> logit_bias;  ///< added to the logits of these tokens
  double repetition_penalty = 1;      ///< above 0: divides positive logits of tokens in prompt and answer, multiplies
                                      ///< negative ones
  double presence_penalty = 0;        ///< subtracted from the logits of tokens in the answer
  double frequency_penalty = 0;       ///< the same, once per occurrence
  double temperature = 0;             ///< divides the logits
  std::int64_t top_k = 0;             ///< keeps this number of the most likely tokens; 0: all
  double top_p = 1;                   ///< keeps the fewest tokens with this sum of probabilities
  double min_p = 0;                   ///< drops tokens below this share of the largest probability
  double typical_p = 1;               ///< keeps the most typical tokens with this sum of probabilities
  std::optional<std::uint64_t> seed;  ///< repeats an answer; empty: a random seed

  /// Throws invalid_argument, and names the member, for numbers out of range. `vocabulary`: number of token ids.
  TERN_API void check(std::int64_t vocabulary) const;
};

struct TextRequest {
  std::vector<std::int64_t> prompt;  ///< token ids, at least one
  std::int64_t max_tokens = 0;       ///< limit of the answer's tokens; 0: the end of the context
  TextSampling sampling;
  std::vector<std::string> stop;  ///< texts that end the answer and are no part of it: 16 at most, of 1 to 1024 bytes
  std::vector<std::int64_t> stop_tokens;  ///< tokens that end the answer besides the model's
  bool ignore_end = false;                ///< continues after the model's end tokens
  int logprobs = -1;                      ///< number of most likely tokens listed beside each token; -1: no logprobs
  /// A JSON schema (text) that the answer follows; "{}" takes any JSON, {"type": "object"} any object; empty: no
  /// schema. The answer ends with its last brace. Near the limit of tokens it takes the shortest way to its end, so
  /// that an answer of max_tokens is complete, too, if the schema has a text so short. docs/serve.md lists the
  /// keywords.
  std::string json_schema;
  /// A grammar in llama.cpp's notation (GBNF) that the answer follows; not beside json_schema.
  std::string grammar;
};

enum class TextFinish {
  end_token,    ///< the model ended the answer, or a stop token did
  stop_text,    ///< a text of TextRequest::stop appeared
  max_tokens,   ///< the answer has max_tokens tokens
  context_end,  ///< prompt and answer fill the context of the archive
  cancelled,
  failed,  ///< TextEnd::problem holds the reason
};
/// "end_token", "stop_text" ...
TERN_API const char* name_of(TextFinish finish);

struct TokenLogprob {
  std::int64_t token = 0;
  double logprob = 0;  ///< natural logarithm of the model's probability, before all steps of TextSampling
};

/// A token of an answer.
struct TextToken {
  std::int64_t token = 0;
  double logprob = 0;             ///< see TokenLogprob; only with TextRequest::logprobs
  std::vector<TokenLogprob> top;  ///< the most likely tokens, the most likely first
};

/// A part of an answer. Text appears once its characters are complete and no stop text can begin in it, so the text may
/// belong to tokens of earlier parts. The end token has no text.
struct TextPiece {
  std::string text;
  std::vector<TextToken> tokens;
};

struct TextEnd {
  TextFinish finish = TextFinish::cancelled;
  std::string problem;  ///< message of a failure
  std::int64_t prompt_tokens = 0;
  std::int64_t shared_tokens = 0;  ///< prompt tokens whose keys and values were in the cache already
  std::int64_t answer_tokens = 0;
  std::int64_t proposed_tokens = 0;  ///< tokens that runs checked before the model chose them (speculation)
  std::int64_t accepted_tokens = 0;  ///< proposed tokens that the model chose, too
  double first_seconds = 0;          ///< time from submit() to the first token
  double answer_seconds = 0;         ///< time from the first token to the last
};

class AnswerState;

/// The reader's end of an answer. The destructor cancels an unfinished answer.
class TERN_API TextAnswer {
 public:
  explicit TextAnswer(std::shared_ptr<AnswerState> state) : state_(std::move(state)) {}
  ~TextAnswer();
  TextAnswer(TextAnswer&&) noexcept = default;
  TextAnswer& operator=(TextAnswer&& other) noexcept;

  /// Waits for the next part; empty at the end of the answer.
  std::optional<TextPiece> next();
  enum class Next { piece, timeout, end };
  Next next(TextPiece& piece, std::chrono::milliseconds timeout);
  /// Ends the answer early, before the model's next step.
  void cancel() const noexcept;
  /// Summary of the answer. Valid after next() found the end.
  const TextEnd& end() const;

 private:
  std::shared_ptr<AnswerState> state_;
};

struct TextEngineOptions {
  PrepareOptions prepare;              ///< device, threads and precision; the engine raises cached_plans to its needs
  std::size_t queue_limit = 256;       ///< limit of requests that wait for a slot
  std::int64_t prompt_part = 512;      ///< prompt tokens read at once, between the steps of other answers
  bool shares_prefixes = true;         ///< false: every prompt is read from its beginning
  std::optional<Tokenizer> tokenizer;  ///< instead of the archive's
  /// Proposes tokens and checks several in one run, while a single answer is under way. Answers stay the same: the
  /// model still chooses each token, with the same draws. (Sums of one row and of several may differ in their last
  /// digits, so one of two nearly equal tokens may win.) Proposed is the continuation of an earlier occurrence of the
  /// last tokens. The archive needs the function verify, which `tern export --llm` makes.
  bool speculates = false;
  /// Number of proposed tokens, at most 15; 0: the number with the most tokens a second, by measured times.
  std::int64_t speculated_tokens = 0;
  /// A smaller model with the same tokens, which proposes tokens, too; implies `speculates`.
  std::optional<Model> draft;
};

/// Thrown by submit() if the queue is full. The code is ErrorCode::runtime.
class TERN_API QueueFull : public Error {
 public:
  explicit QueueFull(const std::string& message) : Error(ErrorCode::runtime, message) {}
};

/// Counts since the engine began.
struct TextEngineStats {
  std::uint64_t requests = 0, finished = 0;  ///< submitted, and ended in any way
  std::uint64_t prompt_tokens = 0;           ///< tokens of begun requests
  std::uint64_t shared_tokens = 0;           ///< prompt tokens found in the cache
  std::uint64_t answer_tokens = 0;
  std::uint64_t proposed_tokens = 0, accepted_tokens = 0;  ///< sums of the answers'
  std::uint64_t prefills = 0, steps = 0;                   ///< runs that read parts of prompts, and runs of decode
  double prefill_seconds = 0, step_seconds = 0;
  std::size_t waiting = 0, running = 0;  ///< requests at present
};

class TERN_API TextEngine {
 public:
  /// Answers have no text without a tokenizer in the archive or the options. Throws invalid_argument unless
  /// `tern export --llm` made the archive.
  explicit TextEngine(const Model& model, const TextEngineOptions& options = {});
  /// Cancels all requests and waits for the model's step.
  ~TextEngine();
  TextEngine(const TextEngine&) = delete;
  TextEngine& operator=(const TextEngine&) = delete;

  /// Throws invalid_argument for a wrong request, QueueFull.
  TextAnswer submit(TextRequest request);
  TextEngineStats stats() const;

  std::int64_t context() const;     ///< limit of prompt and answer together, tokens
  std::int64_t vocabulary() const;  ///< token ids are 0 to vocabulary - 1
  std::int64_t slots() const;       ///< answers made at once
  std::optional<std::int64_t> bos() const;
  /// Sampling of the archive's generation_config.json; greedy without one.
  const TextSampling& sampling() const;
  /// Null without a tokenizer.
  const Tokenizer* tokenizer() const;
  /// Ids of a text as the begin of a sequence: with the tokens that the tokenizer's own rule adds. bos() for a text
  /// without tokens. Throws invalid_argument without tokenizer.
  std::vector<std::int64_t> encode(std::string_view text) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tern
