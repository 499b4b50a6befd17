// The engine's thread: requests join the batch, read their prompts, take steps together, and leave.
#include <fmt/format.h>
#include <tern/cancel.h>
#include <tern/text_engine.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "generation/answer_state.h"
#include "generation/constraint.h"
#include "generation/facts.h"
#include "generation/generation_config.h"
#include "generation/sequence.h"
#include "generation/slot_runner.h"
#include "generation/slot_table.h"
#include "generation/speculation.h"

namespace tern {
namespace {

constexpr std::size_t kMaxStops = 16, kMaxStopBytes = 1024;
constexpr int kMaxLogprobs = 20;
constexpr std::int64_t kMinCopied = 8;  ///< copies of fewer positions cost more than they save

using SequencePtr = std::unique_ptr<Sequence>;

std::optional<Tokenizer> choose_tokenizer(const Model& model, const TextEngineOptions& options) {
  if (options.tokenizer || !has_tokenizer(model)) return options.tokenizer;
  return Tokenizer::from_model(model);
}

PrepareOptions prepare_options(const TextEngineOptions& options, const llm::Facts& facts) {
  PrepareOptions prepare = options.prepare;
  // Keeps a plan for each number of sequences, and of checked tokens for shorter and longer caches.
  prepare.cached_plans = std::max(prepare.cached_plans, static_cast<int>(facts.slots()));
  if (options.speculates || options.draft) prepare.cached_plans = std::max(prepare.cached_plans, 64);
  return prepare;
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

const char* name_of(TextFinish finish) {
  switch (finish) {
    case TextFinish::end_token: return "end_token";
    case TextFinish::stop_text: return "stop_text";
    case TextFinish::max_tokens: return "max_tokens";
    case TextFinish::context_end: return "context_end";
    case TextFinish::cancelled: return "cancelled";
    case TextFinish::failed: return "failed";
  }
  return "unknown";
}

class TextEngine::Impl {
 public:
  Impl(const Model& model, const TextEngineOptions& options)
      : options_(options),
        facts_(llm::read_facts(model)),
        tokenizer_(choose_tokenizer(model, options)),
        sampling_(read_generation_config(model, facts_.vocabulary)),
        runner_(model, model.prepare(prepare_options(options, facts_)), facts_),
        table_(facts_.slots()),
        running_(static_cast<std::size_t>(facts_.slots())) {
    if (options_.prompt_part < 1) fail(ErrorCode::invalid_argument, "TextEngineOptions::prompt_part must be 1 or more");
    options_.shares_prefixes = options_.shares_prefixes && runner_.keeps_positions();
    if (options_.speculates || options_.draft)
      speculation_.emplace(options_, prepare_options(options_, facts_), facts_, runner_.keeps_positions(), tokenizer());
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    stop_.cancel();
    work_available_.notify_one();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  TextAnswer submit(TextRequest request) {
    check(request);
    const std::uint64_t seed = request.sampling.seed ? *request.sampling.seed : random_seed();
    auto answer = std::make_shared<AnswerState>();
    std::unique_ptr<Constraint> constraint = constraints_.create(request, tokenizer(), facts_.vocabulary);
    auto sequence =
        std::make_unique<Sequence>(std::move(request), answer, facts_, tokenizer(), std::move(constraint), seed);
    const std::lock_guard lock(mutex_);
    if (stats_.running + waiting_.size() >= running_.size() + options_.queue_limit)
      throw QueueFull(fmt::format("the queue is full: {} running and {} waiting requests; send the request again later",
                                  stats_.running, waiting_.size()));
    waiting_.push_back(std::move(sequence));
    ++stats_.requests;
    work_available_.notify_one();
    return TextAnswer(std::move(answer));
  }

  TextEngineStats stats() const {
    const std::lock_guard lock(mutex_);
    TextEngineStats stats = stats_;
    stats.waiting = waiting_.size();
    return stats;
  }

  const llm::Facts& facts() const { return facts_; }
  const TextSampling& sampling() const { return sampling_; }
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }

 private:
  void check(const TextRequest& request) const {
    request.sampling.check(facts_.vocabulary);
    if (request.prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt has no tokens");
    if (static_cast<std::int64_t>(request.prompt.size()) > facts_.context) {
      fail(
          ErrorCode::invalid_argument,
          fmt::format("the prompt has {} tokens, and the model's context holds {} with the answer; shorten the prompt, "
                      "or export the model with a larger --context",
                      request.prompt.size(), facts_.context));
    }
    for (const std::int64_t token : request.prompt) {
      if (token < 0 || token >= facts_.vocabulary) {
        fail(ErrorCode::invalid_argument,
             fmt::format("the prompt has token {}; token ids are 0 to {}", token, facts_.vocabulary - 1));
      }
    }
    if (request.max_tokens < 0) fail(ErrorCode::invalid_argument, "max_tokens must be 0 or more");
    if (request.logprobs < -1 || request.logprobs > kMaxLogprobs)
      fail(ErrorCode::invalid_argument, fmt::format("logprobs must be -1 to {}", kMaxLogprobs));
    if (request.stop.size() > kMaxStops || request.stop_tokens.size() > kMaxStops)
      fail(ErrorCode::invalid_argument, fmt::format("a request has at most {} stop texts and stop tokens", kMaxStops));
    for (const std::string& stop : request.stop) {
      if (stop.empty() || stop.size() > kMaxStopBytes)
        fail(ErrorCode::invalid_argument, fmt::format("a stop text has 1 to {} bytes", kMaxStopBytes));
    }
    if (!request.stop.empty() && !tokenizer_)
      fail(ErrorCode::invalid_argument, "stop texts need a tokenizer, and the archive has none");
  }

  void run() {
    const CancelScope scope(stop_);
    while (true) {
      {
        std::unique_lock lock(mutex_);
        work_available_.wait(lock, [&] { return is_ending_ || !waiting_.empty() || stats_.running > 0; });
        if (is_ending_) break;
      }
      drop_cancelled();
      admit();
      read_prompt();
      step();
    }
    for (std::size_t slot = 0; slot < running_.size(); ++slot) {
      if (running_[slot]) leave(slot, TextFinish::cancelled);
    }
    while (const SequencePtr sequence = take_waiting()) sequence->finish(TextFinish::cancelled);
  }

  void drop_cancelled() {
    for (std::size_t slot = 0; slot < running_.size(); ++slot) {
      if (running_[slot] && running_[slot]->is_cancelled()) leave(slot, TextFinish::cancelled);
    }
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const SequencePtr& sequence) {
      if (!sequence->is_cancelled()) return false;
      sequence->finish(TextFinish::cancelled);
      ++stats_.finished;
      return true;
    });
  }

  SequencePtr take_waiting() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return {};
    SequencePtr sequence = std::move(waiting_.front());
    waiting_.pop_front();
    return sequence;
  }

  void admit() {
    while (std::ranges::any_of(running_, [](const SequencePtr& s) { return !s; })) {
      SequencePtr sequence = take_waiting();
      if (!sequence) return;
      const auto prefix = *table_.acquire(sharable(*sequence));
      const auto slot = static_cast<std::size_t>(prefix.slot);
      sequence->share(prefix.size);
      running_[slot] = std::move(sequence);
      {
        const std::lock_guard lock(mutex_);
        ++stats_.running;
        stats_.prompt_tokens += static_cast<std::uint64_t>(running_[slot]->prompt_size());
        stats_.shared_tokens += static_cast<std::uint64_t>(prefix.size);
      }
      guard({slot}, [&] { share_prefix(slot); });
    }
  }

  /// The tokens of a prompt whose cache another slot may give: all but the last, whose logits are needed.
  std::span<const std::int64_t> sharable(const Sequence& s) const {
    return std::span(s.tokens()).first(options_.shares_prefixes ? s.tokens().size() - 1 : 0);
  }

  /// Copies the cache of a longer prefix, which another slot may have read meanwhile.
  void share_prefix(std::size_t slot) {
    Sequence& s = *running_[slot];
    const SlotTable::Prefix prefix = table_.find(sharable(s));
    if (prefix.size < s.read_count() + kMinCopied) return;
    const auto own_slot = static_cast<std::int64_t>(slot);
    runner_.copy(prefix.slot, own_slot, prefix.size);
    table_.set_tokens(own_slot, std::span(s.tokens()).first(static_cast<std::size_t>(prefix.size)));
    const std::int64_t shared_count = prefix.size - s.read_count();
    s.share(shared_count);
    const std::lock_guard lock(mutex_);
    stats_.shared_tokens += static_cast<std::uint64_t>(shared_count);
  }

  /// Reads a part of the prompt that waits longest, so that other answers continue in between.
  void read_prompt() {
    std::size_t slot = running_.size();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (!running_[i] || !running_[i]->reads_prompt()) continue;
      if (slot == running_.size() || running_[i]->submitted() < running_[slot]->submitted()) slot = i;
    }
    if (slot == running_.size()) return;
    guard({slot}, [&] {
      share_prefix(slot);
      Sequence& s = *running_[slot];
      const std::span<const std::int64_t> chunk =
          s.unread().first(std::min(s.unread().size(), static_cast<std::size_t>(options_.prompt_part)));
      const bool is_last = chunk.size() == s.unread().size();
      const auto begin = std::chrono::steady_clock::now();
      runner_.read({static_cast<std::int64_t>(slot), s.read_count()}, chunk, is_last && s.needs_logits());
      count_run(stats_.prefills, stats_.prefill_seconds, begin);
      note_read(slot, chunk);
      if (is_last) choose(slot, 0);
    });
  }

  /// Reads the last token of each answer.
  void step() {
    chosen_.clear();
    std::vector<std::size_t> slots;
    std::vector<llm::RunRow> rows;
    std::vector<std::int64_t> tokens;
    bool wants_logits = false;
    for (std::size_t slot = 0; slot < running_.size(); ++slot) {
      if (!running_[slot] || running_[slot]->reads_prompt()) continue;
      slots.push_back(slot);
      rows.push_back({static_cast<std::int64_t>(slot), running_[slot]->read_count()});
      tokens.push_back(running_[slot]->unread()[0]);
      wants_logits = wants_logits || running_[slot]->needs_logits();
    }
    if (slots.empty()) return;
    // A run checks the tokens of one sequence alone. Several sequences fill a run without proposals.
    const bool speculates = speculation_ && slots.size() == 1;
    bool has_chosen = false;
    const bool is_read = guard(slots, [&] {
      if (speculates) has_chosen = check_proposals(slots[0]);
      if (has_chosen) return;
      const auto begin = std::chrono::steady_clock::now();
      runner_.step(rows, tokens, wants_logits);
      count_run(stats_.steps, stats_.step_seconds, begin);
      if (speculates) speculation_->note_run(1, seconds_since(begin));
    });
    if (has_chosen) return;
    if (!is_read) return;
    for (std::size_t row = 0; row < slots.size(); ++row) {
      guard({slots[row]}, [&] {
        note_read(slots[row], std::span(tokens).subspan(row, 1));
        choose(slots[row], row);
      });
    }
    if (speculates) speculation_->note_chosen(chosen_);
  }

  /// Reads the last token of an answer and proposed ones behind it. The answer takes tokens while the model's choice
  /// confirms the next proposed one; positions of the other tokens are written again later. False without proposals.
  bool check_proposals(std::size_t slot) {
    Sequence& s = *running_[slot];
    // The last token of an answer is not read.
    const std::int64_t room = std::min(s.tokens_left() - 1, facts_.context - s.read_count() - 1);
    const std::vector<std::int64_t>& proposed =
        speculation_->propose(s.tokens(), static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
    if (proposed.empty()) return false;
    std::vector<std::int64_t> tokens = {s.unread()[0]};
    tokens.insert(tokens.end(), proposed.begin(), proposed.end());
    const auto begin = std::chrono::steady_clock::now();
    runner_.verify({static_cast<std::int64_t>(slot), s.read_count()}, tokens, s.needs_logits());
    count_run(stats_.steps, stats_.step_seconds, begin);
    speculation_->note_run(tokens.size(), seconds_since(begin));
    note_proposed(s, proposed.size(), 0);
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      if (row > 0) note_proposed(s, 0, 1);
      note_read(slot, std::span(tokens).subspan(row, 1));
      if (!choose(slot, row) || row == proposed.size() || chosen_.back() != proposed[row]) break;
    }
    speculation_->note_chosen(chosen_);
    return true;
  }

  void note_proposed(Sequence& s, std::size_t proposed, std::size_t accepted) {
    s.note_proposed(static_cast<std::int64_t>(proposed), static_cast<std::int64_t>(accepted));
    const std::lock_guard lock(mutex_);
    stats_.proposed_tokens += proposed;
    stats_.accepted_tokens += accepted;
  }

  void note_read(std::size_t slot, std::span<const std::int64_t> tokens) {
    table_.add_tokens(static_cast<std::int64_t>(slot), tokens);
    running_[slot]->note_read(static_cast<std::int64_t>(tokens.size()));
  }

  /// Adds a token to the answer, and to `chosen_`. False at the end of the answer.
  bool choose(std::size_t slot, std::size_t row) {
    Sequence& s = *running_[slot];
    const std::size_t old_size = s.tokens().size();
    const bool continues = s.choose(runner_.token(row), runner_.logits(row));
    if (s.tokens().size() > old_size) chosen_.push_back(s.tokens().back());
    {
      const std::lock_guard lock(mutex_);
      ++stats_.answer_tokens;
    }
    if (!continues) release(slot);
    return continues;
  }

  /// Runs work of these slots. Its failure ends their requests, and their caches are unknown.
  template <class Work>
  bool guard(const std::vector<std::size_t>& slots, const Work& work) {
    std::string problem;
    try {
      work();
      return true;
    } catch (const Cancelled&) {
      problem = "the engine ended";
    } catch (const std::bad_alloc&) {
      problem = "out of memory";
    } catch (const std::exception& e) {
      problem = e.what();
    }
    for (const std::size_t slot : slots) {
      table_.set_tokens(static_cast<std::int64_t>(slot), {});
      if (running_[slot]) leave(slot, is_ending() ? TextFinish::cancelled : TextFinish::failed, problem);
    }
    return false;
  }

  void leave(std::size_t slot, TextFinish finish, const std::string& problem = {}) {
    running_[slot]->finish(finish, problem);
    release(slot);
  }

  void release(std::size_t slot) {
    running_[slot].reset();
    table_.free(static_cast<std::int64_t>(slot));
    const std::lock_guard lock(mutex_);
    --stats_.running;
    ++stats_.finished;
  }

  void count_run(std::uint64_t& runs, double& seconds, std::chrono::steady_clock::time_point begin) {
    const std::lock_guard lock(mutex_);
    ++runs;
    seconds += seconds_since(begin);
  }

  bool is_ending() const {
    const std::lock_guard lock(mutex_);
    return is_ending_;
  }

  TextEngineOptions options_;
  const llm::Facts facts_;
  const std::optional<Tokenizer> tokenizer_;
  const TextSampling sampling_;
  CancelToken stop_;
  ConstraintMaker constraints_;

  // Used by the engine's thread alone:
  llm::SlotRunner runner_;
  SlotTable table_;
  std::vector<SequencePtr> running_;  ///< request of each slot; null: free
  std::optional<Speculation> speculation_;
  std::vector<std::int64_t> chosen_;  ///< tokens of the present step

  mutable std::mutex mutex_;  ///< guards the members below
  std::condition_variable work_available_;
  std::deque<SequencePtr> waiting_;
  TextEngineStats stats_;
  bool is_ending_ = false;
  std::thread thread_;
};

TextEngine::TextEngine(const Model& model, const TextEngineOptions& options)
    : impl_(std::make_unique<Impl>(model, options)) {}
TextEngine::~TextEngine() = default;

TextAnswer TextEngine::submit(TextRequest request) {
  return impl_->submit(std::move(request));
}
TextEngineStats TextEngine::stats() const {
  return impl_->stats();
}
std::int64_t TextEngine::context() const {
  return impl_->facts().context;
}
std::int64_t TextEngine::vocabulary() const {
  return impl_->facts().vocabulary;
}
std::int64_t TextEngine::slots() const {
  return impl_->facts().slots();
}
std::optional<std::int64_t> TextEngine::bos() const {
  return impl_->facts().bos;
}
const TextSampling& TextEngine::sampling() const {
  return impl_->sampling();
}
const Tokenizer* TextEngine::tokenizer() const {
  return impl_->tokenizer();
}

std::vector<std::int64_t> TextEngine::encode(std::string_view text) const {
  if (tokenizer() == nullptr) {
    fail(ErrorCode::invalid_argument,
         "the archive has no tokenizer; export the model with one, or give token ids (docs/serve.md)");
  }
  std::vector<std::int64_t> tokens = tokenizer()->encode(text);
  if (tokens.empty() && bos()) tokens.push_back(*bos());
  return tokens;
}

}  // namespace tern
