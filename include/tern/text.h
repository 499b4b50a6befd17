// Text of language models: tokenizers turn text into token ids and back, chat templates turn messages into a prompt.
//
//   tern::Model model = tern::Model::open("llm.tern");
//   tern::Tokenizer tokenizer = tern::Tokenizer::from_model(model);
//   tern::ChatTemplate chat = tern::ChatTemplate::from_model(model);
//   std::string prompt = chat.render(R"([{"role": "user", "content": "Where do terns nest?"}])");
//   std::vector<std::int64_t> ids = tokenizer.encode(prompt, {.add_special = false});
//   tern::TextStream stream(tokenizer, ids);
//   std::cout << stream.add(token);  // for each token of the answer
//   std::cout << stream.finish();
//
// Library: link tern::text (CMake) or tern-text (pkg-config); it depends on tern::tern.
// Errors: every function throws tern::Error: io (a file), bad_file (a tokenizer or template breaks its format),
// unsupported (a component of other versions), invalid_argument (a text that is not UTF-8, an id outside the
// vocabulary, messages that are not JSON, or messages that the template refuses by raise_exception).
// Threads: Tokenizer and ChatTemplate are immutable, and any number of threads may share them. A TextStream belongs to
// one thread at a time.
// Memory: copies share their contents. Objects keep no reference to the texts, files and models they came from.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern {

class TokenizerImpl;  // private: text/ of the sources
class ChatTemplateImpl;
class TextStreamImpl;

/// Names of attached files (Model::files) of a language model, with the formats of Hugging Face and SentencePiece.
struct TextFiles {
  static constexpr const char* tokenizer = "tokenizer.json";
  static constexpr const char* sentencepiece = "tokenizer.model";        ///< used without a tokenizer.json
  static constexpr const char* configuration = "tokenizer_config.json";  ///< bos_token, eos_token, chat_template
  static constexpr const char* chat_template = "chat_template.jinja";    ///< takes precedence over the configuration's
  static constexpr const char* generation = "generation_config.json";    ///< temperature, top_k, top_p, eos_token_id
};

/// A token of a vocabulary.
struct TokenInfo {
  std::int64_t id = 0;
  std::string text;         ///< spelling in the vocabulary: "Ġthe", "▁the", "<|im_end|>"
  bool is_special = false;  ///< true for tokens that decode() can leave out: `<s>`, `<|im_end|>`
};

struct EncodeOptions {
  /// Adds the tokens of the post-processor: often bos at the start, [CLS] and [SEP] around the text.
  bool add_special = true;
  /// Special tokens spelled out in the text become their ids. False encodes the spelling as plain text: for text of
  /// users, who must not be able to end a message.
  bool parse_special = true;
};

/// A vocabulary and the rules of splitting text into its tokens.
class TERN_API Tokenizer {
 public:
  /// Opens a tokenizer.json (Hugging Face), a SentencePiece model (tokenizer.model), or a folder with one of these; a
  /// tokenizer_config.json beside the file names bos and eos.
  static Tokenizer open(const std::string& path);
  /// Reads the bytes of a tokenizer.json or of a SentencePiece model. `configuration`: text of tokenizer_config.json,
  /// may be empty.
  static Tokenizer from_bytes(std::string_view bytes, std::string_view configuration = {});
  /// Reads the tokenizer attached to an archive. Throws invalid_argument if the archive has none (see has_tokenizer).
  static Tokenizer from_model(const Model& model);

  /// Ids of a text. The text is UTF-8.
  std::vector<std::int64_t> encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Text of ids, always valid UTF-8: U+FFFD replaces incomplete characters. `skip_special` leaves special tokens out.
  /// Throws invalid_argument for negative ids; ids beyond the vocabulary have no text, because models pad their
  /// vocabulary.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special = true) const;

  /// Largest id plus 1.
  std::int64_t vocabulary_size() const;
  /// Id of a token by its spelling in the vocabulary.
  std::optional<std::int64_t> id_of(std::string_view token) const;
  /// Token of an id; empty for ids without one.
  std::optional<TokenInfo> token(std::int64_t id) const;
  /// Special tokens by id.
  std::vector<TokenInfo> special_tokens() const;
  /// First and last token of sequences, as the configuration, a SentencePiece model or usual names (`<s>`, `</s>`) give
  /// them. A model may have more last tokens: Model::metadata, key "llm.eos".
  std::optional<std::int64_t> bos() const;
  std::optional<std::int64_t> eos() const;

  explicit Tokenizer(std::shared_ptr<const TokenizerImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const TokenizerImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const TokenizerImpl> impl_;
};

/// Turns an answer into text token by token. Text appears once its characters are complete, so a token inside a
/// character gives an empty text. All texts together are the text that decode() adds for the tokens.
class TERN_API TextStream {
 public:
  /// `context`: tokens before the answer, as they decide about leading spaces; the last few suffice.
  explicit TextStream(Tokenizer tokenizer, std::span<const std::int64_t> context = {}, bool skip_special = true);
  ~TextStream();
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;

  /// Text completed by the token. Throws invalid_argument for negative ids.
  std::string add(std::int64_t token);
  /// Text held back, with U+FFFD for an incomplete character; the stream continues as if after a whole character.
  std::string finish();

 private:
  std::unique_ptr<TextStreamImpl> impl_;
};

struct ChatOptions {
  /// Ends the prompt with the beginning of the assistant's message.
  bool add_generation_prompt = true;
  /// JSON array of tools (functions that the model may call) for the variable `tools`; empty: none.
  std::string tools;
  /// JSON object of further variables of the template: {"enable_thinking": false}. They take precedence over bos_token
  /// and eos_token.
  std::string variables;
  /// Time of strftime_now, in seconds since 1970; empty: the present. Local time of the process.
  std::optional<std::int64_t> time;
};

/// A chat template in Jinja, as transformers renders them (docs/language_models.md).
class TERN_API ChatTemplate {
 public:
  /// Opens a .jinja file, a tokenizer_config.json, or a folder with one of these. `name` chooses among several
  /// templates
  /// ("tool_use"); empty: the default.
  static ChatTemplate open(const std::string& path, const std::string& name = {});
  /// Compiles a template. `configuration`: text of tokenizer_config.json, whose special tokens become the variables
  /// bos_token, eos_token and so on; may be empty.
  static ChatTemplate from_text(std::string_view text, std::string_view configuration = {});
  /// Compiles the template attached to an archive. Throws invalid_argument if the archive has none (see
  /// has_chat_template).
  static ChatTemplate from_model(const Model& model, const std::string& name = {});

  /// Prompt of messages: a JSON array of objects such as {"role": "user", "content": "Hello"}. Limits of
  /// docs/language_models.md bound time, memory and the size of the prompt.
  std::string render(std::string_view messages, const ChatOptions& options = {}) const;
  /// Source of the template.
  const std::string& text() const;

  explicit ChatTemplate(std::shared_ptr<const ChatTemplateImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const ChatTemplateImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const ChatTemplateImpl> impl_;
};

/// True if from_model() finds a tokenizer or a chat template in the archive.
TERN_API bool has_tokenizer(const Model& model);
TERN_API bool has_chat_template(const Model& model);

}  // namespace tern
