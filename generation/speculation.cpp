#include "generation/speculation.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "generation/names.h"
#include "generation/repeated_text.h"

namespace tern {
namespace {

constexpr std::size_t kDraftOrigin = 4;

std::size_t origin_of(std::size_t common) {
  return common <= 2 ? 0 : common <= 4 ? 1 : common <= 8 ? 2 : 3;
}

/// A draft model spells each id as the model does; ids above its vocabulary are padding.
void check_draft(const Model& draft, std::int64_t draft_vocabulary, const llm::Facts& facts,
                 const Tokenizer* tokenizer) {
  const auto refuse = [](const std::string& difference) {
    fail(ErrorCode::invalid_argument,
         "the draft model has another vocabulary (" + difference + "); take a smaller model of the same family");
  };
  if (tokenizer == nullptr || !has_tokenizer(draft)) {
    if (draft_vocabulary != facts.vocabulary)
      refuse(fmt::format("{} tokens, the model has {}", draft_vocabulary, facts.vocabulary));
    return;
  }
  const Tokenizer own = Tokenizer::from_model(draft);
  for (std::int64_t id = 0; id < std::min(draft_vocabulary, facts.vocabulary); ++id) {
    const std::optional<TokenInfo> a = own.token(id), b = tokenizer->token(id);
    if (a.has_value() != b.has_value() || (a && a->text != b->text)) refuse(fmt::format("token {} differs", id));
  }
}

}  // namespace

Speculation::Speculation(const TextEngineOptions& options, const PrepareOptions& prepare, const llm::Facts& facts,
                         bool keeps_positions, const Tokenizer* tokenizer)
    : facts_(facts),
      fixed_size_(static_cast<std::size_t>(options.speculated_tokens)),
      acceptances_{Acceptance(0.4), Acceptance(0.6), Acceptance(0.8), Acceptance(0.9), Acceptance(0.7)} {
  if (facts.verify == 0) {
    fail(ErrorCode::invalid_argument,
         "the archive cannot check proposed tokens: it lacks the function verify. Export the model again with this "
         "version of Tern, from a program that gives the logits of all tokens (docs/generate.md)");
  }
  if (!keeps_positions) {
    fail(ErrorCode::invalid_argument,
         "the archive's caches keep a window of positions, so tokens that the model rejects cannot be taken back; "
         "export the model by tern.export_llm or from a GGUF file, whose caches have all positions");
  }
  if (options.speculated_tokens < 0 || options.speculated_tokens >= llm::kMaxVerified) {
    fail(ErrorCode::invalid_argument,
         fmt::format("TextEngineOptions::speculated_tokens must be 0 to {}", llm::kMaxVerified - 1));
  }
  if (!options.draft) return;
  draft_.emplace(*options.draft, prepare);
  check_draft(*options.draft, draft_->facts().vocabulary, facts, tokenizer);
}

std::size_t Speculation::choose_size(const Acceptance& acceptance, std::size_t available, double token_seconds) const {
  if (fixed_size_ > 0) return std::min(fixed_size_, available);
  return choose_proposal_size(times_, acceptance.share(), available, token_seconds);
}

const std::vector<std::int64_t>& Speculation::propose(std::span<const std::int64_t> tokens, std::size_t max_tokens) {
  proposed_.clear();
  expected_.clear();
  origin_ = nullptr;
  max_tokens = std::min(max_tokens, static_cast<std::size_t>(facts_.verify - 1));
  if (max_tokens == 0) return proposed_;
  const RepeatedText repeated = find_repeated_text(tokens, max_tokens);
  // A short repetition says less than a draft model.
  if (!repeated.tokens.empty() && (!draft_ || repeated.common > 4)) {
    origin_ = &acceptances_[origin_of(repeated.common)];
    const std::size_t count = choose_size(*origin_, repeated.tokens.size());
    proposed_.assign(repeated.tokens.begin(), repeated.tokens.begin() + static_cast<std::ptrdiff_t>(count));
    expected_.assign(repeated.tokens.begin(),
                     repeated.tokens.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(count, 1)));
  } else if (draft_) {
    Acceptance& acceptance = acceptances_[kDraftOrigin];
    const std::size_t count = choose_size(acceptance, max_tokens, draft_->token_seconds());
    if (count == 0) {
      acceptance.note_unused();
      return proposed_;
    }
    origin_ = &acceptance;
    proposed_ = draft_->propose(tokens, count);
    // The draft model's vocabulary may be longer: its padding is no token of the model.
    const auto unknown = [&](std::int64_t token) { return token >= facts_.vocabulary; };
    proposed_.erase(std::ranges::find_if(proposed_, unknown), proposed_.end());
    expected_ = proposed_;
  }
  return proposed_;
}

void Speculation::note_chosen(std::span<const std::int64_t> chosen) {
  for (std::size_t i = 0; i < std::min(chosen.size(), expected_.size()) && origin_ != nullptr; ++i) {
    const bool is_same = chosen[i] == expected_[i];
    origin_->note(is_same);
    if (!is_same) return;
  }
}

}  // namespace tern
