// tern.Tokenizer, tern.TextStream, tern.ChatTemplate.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tern/text.h>

#include "python/binding/file_path.h"
#include "python/binding/gil.h"
#include "python/binding/json_text.h"
#include "python/binding/model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

void add_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer", "A vocabulary and the rules of splitting text into its tokens.")
      .def(
          "__init__",
          [](Tokenizer* self, const nb::object& path) {
            const std::string file = file_path_of(path);
            const WithoutGil released;
            new (self) Tokenizer(Tokenizer::open(file));
          },
          "path"_a, nb::sig("def __init__(self, path: str | os.PathLike[str]) -> None"),
          "Opens a tokenizer.json, a SentencePiece model, or a folder with one of them.")
      .def(
          "encode",
          [](const Tokenizer& t, const std::string& text, bool add_special, bool parse_special) {
            const WithoutGil released;
            return t.encode(text, {add_special, parse_special});
          },
          "text"_a, nb::kw_only(), "add_special"_a = true, "parse_special"_a = true,
          "Ids of a text. add_special adds bos and the like; parse_special turns special tokens that the text spells "
          "out "
          "into their ids.")
      .def(
          "decode",
          [](const Tokenizer& t, const std::vector<std::int64_t>& ids, bool skip_special) {
            const WithoutGil released;
            return t.decode(ids, skip_special);
          },
          "ids"_a, nb::kw_only(), "skip_special"_a = true, "Text of ids.")
      .def("__len__", &Tokenizer::vocabulary_size)
      .def(
          "id_of", [](const Tokenizer& t, const std::string& token) { return t.id_of(token); }, "token"_a,
          "Id of a token by its spelling in the vocabulary, or None.")
      .def(
          "token",
          [](const Tokenizer& t, std::int64_t id) -> std::optional<std::string> {
            const std::optional<TokenInfo> info = t.token(id);
            return info ? std::optional(info->text) : std::nullopt;
          },
          "id"_a, "Spelling of a token in the vocabulary, or None.")
      .def_prop_ro("special_tokens",
                   [](const Tokenizer& t) {
                     nb::dict tokens;
                     for (const TokenInfo& info : t.special_tokens()) tokens[info.text.c_str()] = info.id;
                     return tokens;
                   })
      .def_prop_ro("bos", &Tokenizer::bos)
      .def_prop_ro("eos", &Tokenizer::eos);
  nb::class_<TextStream>(m, "TextStream", "Turns an answer into text token by token, whole characters only.")
      .def(
          "__init__",
          [](TextStream* self, const Tokenizer& t, const std::vector<std::int64_t>& context, bool skip_special) {
            new (self) TextStream(t, context, skip_special);
          },
          "tokenizer"_a, "context"_a = std::vector<std::int64_t>(), nb::kw_only(), "skip_special"_a = true)
      .def("add", &TextStream::add, "token"_a, "Text completed by the token; empty inside a character.")
      .def("finish", &TextStream::finish, "Text held back.");
}

}  // namespace

void add_text(nb::module_& m) {
  add_tokenizer(m);
  nb::class_<ChatTemplate>(m, "ChatTemplate",
                           "Turns messages into a prompt, as transformers' apply_chat_template does.")
      .def(
          "__init__",
          [](ChatTemplate* self, const nb::object& path, const std::string& name) {
            new (self) ChatTemplate(ChatTemplate::open(file_path_of(path), name));
          },
          "path"_a, "name"_a = "", nb::sig("def __init__(self, path: str | os.PathLike[str], name: str = '') -> None"),
          "Opens a .jinja file, a tokenizer_config.json, or a folder with one of them.")
      .def(
          "render",
          [](const ChatTemplate& chat, const nb::object& messages, bool add_generation_prompt, const nb::object& tools,
             const nb::kwargs& variables) {
            ChatOptions options;
            options.add_generation_prompt = add_generation_prompt;
            options.tools = json_of(tools);
            if (variables.size() > 0) options.variables = json_of(nb::object(variables));
            const std::string text = json_of(messages);
            const WithoutGil released;
            return chat.render(text, options);
          },
          "messages"_a, nb::kw_only(), "add_generation_prompt"_a = true, "tools"_a = nb::none(), "variables"_a,
          nb::sig("def render(self, messages: collections.abc.Sequence[collections.abc.Mapping[str, object]] | str, *, "
                  "add_generation_prompt: bool = True, tools: object = None, **variables: object) -> str"),
          "Prompt of messages: [{'role': 'user', 'content': 'Hello'}]. Other names are variables of the template.")
      .def_prop_ro("text", [](const ChatTemplate& chat) { return chat.text(); });
}

}  // namespace tern::python
