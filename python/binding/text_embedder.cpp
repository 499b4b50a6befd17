#include "python/binding/text_embedder.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tern/error.h>
#include <tern/text_embedder.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "python/binding/facts.h"
#include "python/binding/fork.h"
#include "python/binding/gil.h"
#include "python/binding/model.h"
#include "python/binding/tensor.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tern::python {
namespace {

struct PyTextEmbedder {
  std::shared_ptr<Facts> facts;
  TextEmbedder embedder;
};

/// A text, or token ids.
using GivenText = std::variant<std::string, std::vector<std::int64_t>>;

std::vector<GivenText> given_texts(nb::handle texts) {
  std::vector<GivenText> given;
  for (const nb::handle text : texts) {
    if (nb::isinstance<nb::str>(text)) {
      given.emplace_back(nb::cast<std::string>(text));
    } else {
      given.emplace_back(nb::cast<std::vector<std::int64_t>>(text));
    }
  }
  return given;
}

nb::object embed(PyTextEmbedder& self, nb::handle texts, bool truncate, std::optional<std::int64_t> dimensions) {
  check_fork();
  TextEmbedder& embedder = self.embedder;
  const std::int64_t width = dimensions.value_or(embedder.dimensions());
  if (width < 1 || width > embedder.dimensions() || (width < embedder.dimensions() && !embedder.cuts()))
    fail(ErrorCode::invalid_argument, "dimensions: the model's vectors cannot be shortened to this size");
  if (nb::isinstance<nb::str>(texts)) fail(ErrorCode::invalid_argument, "embed() takes a list of texts, not one text");
  const std::vector<GivenText> given = given_texts(texts);
  Tensor vectors(DType::f32, {static_cast<std::int64_t>(given.size()), width});
  {
    const WithoutGil released;
    std::vector<std::vector<std::int64_t>> tokens;
    for (const GivenText& text : given) {
      const auto* words = std::get_if<std::string>(&text);
      tokens.push_back(words != nullptr ? embedder.encode(*words) : std::get<std::vector<std::int64_t>>(text));
      if (truncate) tokens.back() = embedder.cut(std::move(tokens.back()));
    }
    const std::vector<float> all = embedder.embed(tokens);
    auto row = vectors.span<float>().begin();
    for (auto from = all.begin(); from != all.end(); from += embedder.dimensions()) {
      std::vector<float> vector(from, from + embedder.dimensions());
      if (width < embedder.dimensions())
        vector = shortened_embedding(std::move(vector), static_cast<std::size_t>(width));
      row = std::ranges::copy(vector, row).out;
    }
  }
  return tensor_object(std::move(vectors));
}

}  // namespace

void add_text_embedder(nb::module_& m) {
  nb::class_<PyTextEmbedder>(m, "TextEmbedder",
                             R"(Turns texts into vectors by an encoder: an archive of export_embeddings().

The device, threads and precision are those of load(). Texts of concurrent calls share runs.)")
      .def(
          "__init__",
          [](PyTextEmbedder* self, const PyModel& model, std::int64_t run_tokens,
             const std::optional<Tokenizer>& tokenizer) {
            check_fork();
            TextEmbedderOptions options;
            options.prepare = model.facts->options;
            options.run_tokens = run_tokens;
            options.tokenizer = tokenizer;
            const WithoutGil released;
            new (self) PyTextEmbedder{model.facts, TextEmbedder(model.facts->model(), options)};
          },
          "model"_a, nb::kw_only(), "run_tokens"_a = 4096, "tokenizer"_a = nb::none(),
          "run_tokens: limit of tokens in a run, with padding.")
      .def(
          "embed", &embed, "texts"_a, nb::kw_only(), "truncate"_a = false, "dimensions"_a = nb::none(),
          nb::sig("def embed(self, texts: collections.abc.Sequence[str | collections.abc.Sequence[int]], *, "
                  "truncate: bool = False, dimensions: int | None = None) -> Tensor"),
          "Vectors of texts, or of token ids: float32 [texts, dimensions]. truncate: cuts long texts, which are errors "
          "otherwise. dimensions: the first numbers of each vector, of models trained for it. Any thread may call it.")
      .def(
          "encode", [](const PyTextEmbedder& self, const std::string& text) { return self.embedder.encode(text); },
          "text"_a, "Ids of a text, with the tokens that the tokenizer adds.")
      .def_prop_ro("dimensions", [](const PyTextEmbedder& self) { return self.embedder.dimensions(); })
      .def_prop_ro(
          "context", [](const PyTextEmbedder& self) { return self.embedder.context(); }, "Limit of a text's tokens.");
}

}  // namespace tern::python
