#include "python/binding/text_engine.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tern/error.h>
#include <tern/text_engine.h>

#include <utility>

#include "python/binding/facts.h"
#include "python/binding/fork.h"
#include "python/binding/gil.h"
#include "python/binding/interrupt.h"
#include "python/binding/json_text.h"
#include "python/binding/model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

constexpr std::chrono::milliseconds kPollSignals(100);

struct PyTextEngine {
  std::shared_ptr<Facts> facts;
  std::optional<TextEngine> engine;
  std::optional<ChatTemplate> chat;

  TextEngine& open() {
    check_fork();
    if (!engine) fail(ErrorCode::invalid_argument, "the TextEngine is closed");
    return *engine;
  }
};

/// Collects an answer while Python reads its parts.
struct PyTextAnswer {
  TextAnswer answer;
  std::string text;
  std::vector<TextToken> tokens;
  bool has_ended = false;

  /// The next text; empty at the end.
  std::optional<std::string> next() {
    while (!has_ended) {
      TextPiece piece;
      TextAnswer::Next next = TextAnswer::Next::timeout;
      {
        const WithoutGil released;
        next = answer.next(piece, kPollSignals);
      }
      raise_interrupt();
      if (next == TextAnswer::Next::end) {
        has_ended = true;
        if (answer.end().finish == TextFinish::failed) fail(ErrorCode::runtime, answer.end().problem);
        break;
      }
      if (next == TextAnswer::Next::timeout) continue;
      for (TextToken& token : piece.tokens) tokens.push_back(std::move(token));
      text += piece.text;
      if (!piece.text.empty()) return std::move(piece.text);
    }
    return {};
  }
  const TextEnd& end() {
    while (next()) {
    }
    return answer.end();
  }
};

nb::object finish_of(PyTextAnswer& a) {
  if (!a.has_ended) return nb::none();
  return nb::str(name_of(a.answer.end().finish));
}

/// Settings of a request, from keywords of the same names.
TextRequest request_of(const TextEngine& engine, nb::kwargs options) {
  TextRequest request;
  TextSampling& s = request.sampling;
  s = engine.sampling();
  const auto take = [&](const char* name, auto& value) {
    if (!options.contains(name)) return;
    const nb::object given = options[name];
    nb::del(options[name]);
    if (given.is_none()) return;
    if (!nb::try_cast(given, value)) fail(ErrorCode::invalid_argument, fmt::format("{} has a wrong type", name));
  };
  take("max_tokens", request.max_tokens);
  take("temperature", s.temperature);
  take("top_k", s.top_k);
  take("top_p", s.top_p);
  take("min_p", s.min_p);
  take("typical_p", s.typical_p);
  take("repetition_penalty", s.repetition_penalty);
  take("presence_penalty", s.presence_penalty);
  take("frequency_penalty", s.frequency_penalty);
  take("seed", s.seed);
  if (options.contains("logit_bias")) {
    for (const auto& [token, bias] : nb::cast<nb::dict>(options["logit_bias"]))
      s.logit_bias.emplace_back(nb::cast<std::int64_t>(token), nb::cast<double>(bias));
    nb::del(options["logit_bias"]);
  }
  if (options.contains("stop") && nb::isinstance<nb::str>(options["stop"])) {
    request.stop = {nb::cast<std::string>(options["stop"])};
    nb::del(options["stop"]);
  }
  take("stop", request.stop);
  take("stop_tokens", request.stop_tokens);
  take("ignore_end", request.ignore_end);
  take("logprobs", request.logprobs);
  take("grammar", request.grammar);
  if (options.contains("json_schema")) {
    request.json_schema = json_of(options["json_schema"]);
    nb::del(options["json_schema"]);
  }
  for (const auto& [name, value] : options)
    throw nb::type_error(fmt::format("submit() has no option '{}'", nb::cast<std::string>(name)).c_str());
  return request;
}

PyTextAnswer submit(PyTextEngine& self, nb::handle prompt, const nb::kwargs& options) {
  TextEngine& engine = self.open();
  TextRequest request = request_of(engine, options);
  if (nb::isinstance<nb::str>(prompt)) {
    request.prompt = engine.encode(nb::cast<std::string>(prompt));
  } else {
    request.prompt = nb::cast<std::vector<std::int64_t>>(prompt);
  }
  const WithoutGil released;
  return {engine.submit(std::move(request)), {}, {}};
}

PyTextAnswer chat(PyTextEngine& self, const nb::object& messages, const nb::object& variables,
                  const nb::kwargs& options) {
  TextEngine& engine = self.open();
  if (!self.chat || engine.tokenizer() == nullptr)
    fail(ErrorCode::invalid_argument, "the archive has no chat template or tokenizer; export the model with them");
  TextRequest request = request_of(engine, options);
  ChatOptions given;
  given.variables = json_of(variables);
  request.prompt = engine.tokenizer()->encode(self.chat->render(json_of(messages), given), {.add_special = false});
  const WithoutGil released;
  return {engine.submit(std::move(request)), {}, {}};
}

nb::dict stats_of(PyTextEngine& self) {
  const TextEngineStats s = self.open().stats();
  nb::dict d;
  d["requests"] = s.requests;
  d["finished"] = s.finished;
  d["prompt_tokens"] = s.prompt_tokens;
  d["shared_tokens"] = s.shared_tokens;
  d["answer_tokens"] = s.answer_tokens;
  d["proposed_tokens"] = s.proposed_tokens;
  d["accepted_tokens"] = s.accepted_tokens;
  d["prefills"] = s.prefills;
  d["steps"] = s.steps;
  d["prefill_seconds"] = s.prefill_seconds;
  d["step_seconds"] = s.step_seconds;
  d["waiting"] = s.waiting;
  d["running"] = s.running;
  return d;
}

constexpr const char* kSubmitText =
    R"(Begins an answer to a prompt: a text, or token ids. Any thread may call it.

max_tokens           limit of the answer's tokens; 0: the end of the context
temperature, top_k, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty, seed
                     choice of a token (docs/serve.md); default: the archive's
logit_bias           {token: number added to its logit}
stop, stop_tokens    a text or texts, or tokens, that end the answer
ignore_end           continue after the model's end token
logprobs             number of likely tokens listed beside each token
json_schema          a dict or JSON text that the answer follows; {}: any JSON
grammar              a grammar in llama.cpp's notation that the answer follows)";

void add_answer(nb::module_& m) {
  nb::class_<PyTextAnswer>(m, "TextAnswer",
                           "An answer under way: an iterator over its text. Ending its life cancels the answer.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __iter__(self) -> TextAnswer"))
      .def("__next__",
           [](PyTextAnswer& a) {
             std::optional<std::string> text = a.next();
             if (!text) throw nb::stop_iteration();
             return std::move(*text);
           })
      .def(
          "read", [](PyTextAnswer& a) { return a.end(), a.text; }, "Waits for the end. Returns the whole text.")
      .def(
          "cancel", [](const PyTextAnswer& a) { a.answer.cancel(); }, "Ends the answer before the model's next step.")
      .def_prop_ro(
          "text", [](const PyTextAnswer& a) { return a.text; }, "Text read so far.")
      .def_prop_ro(
          "tokens",
          [](const PyTextAnswer& a) {
            std::vector<std::int64_t> ids;
            for (const TextToken& t : a.tokens) ids.push_back(t.token);
            return ids;
          },
          "Tokens read so far.")
      .def_prop_ro(
          "logprobs",
          [](const PyTextAnswer& a) {
            std::vector<std::pair<double, std::vector<std::pair<std::int64_t, double>>>> all;
            for (const TextToken& t : a.tokens) {
              std::vector<std::pair<std::int64_t, double>> top;
              for (const TokenLogprob& one : t.top) top.emplace_back(one.token, one.logprob);
              all.emplace_back(t.logprob, std::move(top));
            }
            return all;
          },
          "For each token read: its logarithm of probability, and [(token, logarithm), ...] of the likely tokens.")
      .def_prop_ro("finish", &finish_of, nb::sig("def finish(self) -> str | None"),
                   "'end_token', 'stop_text', 'max_tokens', 'context_end', 'cancelled'; None before the end.")
      .def_prop_ro("prompt_tokens", [](PyTextAnswer& a) { return a.end().prompt_tokens; })
      .def_prop_ro("shared_tokens", [](PyTextAnswer& a) { return a.end().shared_tokens; })
      .def_prop_ro("answer_tokens", [](PyTextAnswer& a) { return a.end().answer_tokens; })
      .def_prop_ro("proposed_tokens", [](PyTextAnswer& a) { return a.end().proposed_tokens; })
      .def_prop_ro("accepted_tokens", [](PyTextAnswer& a) { return a.end().accepted_tokens; })
      .def_prop_ro("first_seconds", [](PyTextAnswer& a) { return a.end().first_seconds; })
      .def_prop_ro("answer_seconds", [](PyTextAnswer& a) { return a.end().answer_seconds; });
}

}  // namespace

void add_text_engine(nb::module_& m) {
  add_answer(m);
  nb::class_<PyTextEngine> c(m, "TextEngine",
                             R"(Answers many requests at once by a language model: an archive of export_llm().

The device, threads and precision are those of load(). Requests from any thread join the running batch.)");
  c.def(
      "__init__",
      [](PyTextEngine* self, const PyModel& model, std::size_t queue, std::int64_t prompt_part, bool shares_prefixes,
         const std::optional<Tokenizer>& tokenizer, const std::optional<ChatTemplate>& chat, bool speculates,
         std::int64_t speculated_tokens, const PyModel* draft) {
        check_fork();
        TextEngineOptions options;
        options.prepare = model.facts->options;
        options.queue_limit = queue;
        options.prompt_part = prompt_part;
        options.shares_prefixes = shares_prefixes;
        options.tokenizer = tokenizer;
        options.speculates = speculates;
        options.speculated_tokens = speculated_tokens;
        if (draft != nullptr) options.draft = draft->facts->model();
        new (self) PyTextEngine{model.facts, {}, chat};
        const WithoutGil released;
        const Model& archive = model.facts->model();
        if (!self->chat && has_chat_template(archive)) self->chat = ChatTemplate::from_model(archive);
        self->engine.emplace(archive, options);
      },
      "model"_a, nb::kw_only(), "queue"_a = 256, "prompt_part"_a = 512, "shares_prefixes"_a = true,
      "tokenizer"_a = nb::none(), "chat_template"_a = nb::none(), "speculates"_a = false, "speculated_tokens"_a = 0,
      "draft"_a.none() = nb::none(),
      "queue: limit of waiting requests. prompt_part: prompt tokens read between the steps of other answers. "
      "speculates: proposes tokens found in the text so far, and checks several in one run. speculated_tokens: their "
      "number, at most 15; 0: by measured times. draft: a smaller model with "
      "the same tokens, which proposes tokens, too.");
  c.def("submit", &submit, "prompt"_a, "options"_a,
        nb::sig("def submit(self, prompt: str | collections.abc.Sequence[int], **options: object) -> TextAnswer"),
        kSubmitText);
  c.def("chat", &chat, "messages"_a, nb::kw_only(), "variables"_a = nb::none(), "options"_a,
        nb::sig("def chat(self, messages: collections.abc.Sequence[collections.abc.Mapping[str, object]] | str, *, "
                "variables: collections.abc.Mapping[str, object] | None = None, **options: object) -> TextAnswer"),
        "Begins an answer to messages, [{'role': 'user', 'content': 'Hello'}], by the chat template. variables: of the "
        "template. options: of submit().");
  c.def(
      "encode", [](PyTextEngine& self, const std::string& text) { return self.open().encode(text); }, "text"_a,
      "Ids of a text as the begin of a sequence.");
  c.def_prop_ro("context", [](PyTextEngine& self) { return self.open().context(); });
  c.def_prop_ro("vocabulary", [](PyTextEngine& self) { return self.open().vocabulary(); });
  c.def_prop_ro("slots", [](PyTextEngine& self) { return self.open().slots(); });
  c.def_prop_ro("stats", &stats_of, "Counts and seconds since the engine began.");
  c.def(
      "close",
      [](PyTextEngine& self) {
        const WithoutGil released;
        self.engine.reset();
      },
      "Cancels all answers and frees the model's caches.");
  add_context(
      c, "def __enter__(self) -> TextEngine", [](const PyTextEngine& self) { const_cast<PyTextEngine&>(self).open(); },
      [](const PyTextEngine& self) {
        const WithoutGil released;
        const_cast<PyTextEngine&>(self).engine.reset();
      });
}

}  // namespace tern::python
