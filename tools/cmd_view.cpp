// tern view: a page showing a model or comparing two, in the browser or as a file.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/tern.h>

#include <cstdio>
#include <memory>

#include "loader/atomic_file.h"
#include "tools/command.h"
#include "tools/same_file.h"
#include "tools/text.h"
#include "tools/view/browser.h"
#include "tools/view/data.h"
#include "tools/view/page.h"
#include "tools/view/server.h"
#include "tools/view/weight.h"

namespace tern {
namespace {

struct ViewArguments {
  std::string model, other_model, function, html;
  std::vector<std::string> traces, sizes;
  bool run = false, no_browser = false;
  std::uint64_t weight_bytes = std::uint64_t{512} << 20;
  int port = 0;
};

std::optional<view::RunFigures> figures_of(const ViewArguments& a, const view::Viewed& m, std::size_t number) {
  if (number < a.traces.size()) return view::traced_run(a.traces[number]);
  if (!a.run) return {};
  if (m.program == nullptr) fail(ErrorCode::unsupported, m.name + ": " + describe(m.findings.front()));
  return view::measured_run(Model(m.program), a.function, view::sizes_for(*m.program, a.sizes));
}

view::Shown open_all(const ViewArguments& a) {
  view::Shown shown_models;
  shown_models.sizes = a.sizes;
  shown_models.models.push_back(view::open_viewed(a.model));
  if (!a.other_model.empty()) shown_models.models.push_back(view::open_viewed(a.other_model));
  if (a.traces.size() > shown_models.models.size())
    fail(ErrorCode::invalid_argument, "--trace: there are more traces than models");
  view::check_sizes(shown_models.models, a.sizes);
  for (std::size_t i = 0; i < shown_models.models.size(); ++i)
    shown_models.run_figures.push_back(figures_of(a, shown_models.models[i], i));
  return shown_models;
}

void write_file(const ViewArguments& a, const view::Shown& shown_models) {
  AtomicFile file(a.html);
  file.write(view::page_with(view::data_json_with_weights(shown_models, a.weight_bytes)));
  file.commit();
  fmt::print("{}: {}\n", escape_name(a.html), human_bytes(file.size()));
}

void serve_page(const ViewArguments& a, const view::Shown& shown_models) {
  view::Site site;
  site.page = view::page_with(view::data_json(shown_models, true));
  const auto has_state = [&](std::uint32_t model, std::uint32_t state) {
    return model < shown_models.models.size() && shown_models.models[model].program != nullptr &&
           state < shown_models.models[model].program->states.size();
  };
  site.weight = [&](std::uint32_t model, std::uint32_t state) -> std::optional<std::string> {
    if (!has_state(model, state)) return {};
    return view::weight_json(*shown_models.models[model].program, state).dump();
  };
  site.compared = [&](std::uint32_t state, std::uint32_t other_state) -> std::optional<std::string> {
    if (!has_state(0, state) || !has_state(1, other_state)) return {};
    return view::compared_json(*shown_models.models[0].program, state, *shown_models.models[1].program, other_state)
        .dump();
  };
  view::Browser browser;
  const auto announce_address = [&](const std::string& address) {
    const bool is_opened = !a.no_browser && browser.open(address);
    fmt::print("{}\n", address);
    std::fflush(stdout);
    fmt::print(stderr, "{}; Ctrl-C ends the server\n",
               is_opened ? "opened in the browser" : "open this address in a browser");
  };
  view::serve(site, a.port, announce_address, [&] { browser.forget(); });
}

/// The page must not overwrite its own inputs.
void check_html(const ViewArguments& a) {
  std::vector<std::string> input_files = a.traces;
  input_files.insert(input_files.end(), {a.model, a.other_model});
  refuse_to_replace("--html", a.html, input_files);
}

int run_view(const ViewArguments& a) {
  check_html(a);
  const view::Shown shown_models = open_all(a);
  a.html.empty() ? serve_page(a, shown_models) : write_file(a, shown_models);
  return 0;
}

}  // namespace

void add_view_command(Command app, CommandLine& line) {
  auto a = std::make_shared<ViewArguments>();
  const Command c =
      app.add_subcommand("view", "Show a model as a picture in the browser: graph, weights, time, memory");
  c.add_option("model", a->model, "A .tern archive, or a .pt2 file").required();
  c.add_option("other", a->other_model, "Another model, to see the differences");
  c.add_option("--trace", a->traces,
               "Paint the nodes with the times of this trace, in Chrome's JSON. May be repeated, for the second model")
      .type_name("FILE");
  c.add_flag("--run", a->run, "Run each model with generated inputs, and paint the nodes with their times");
  c.add_option("-f,--function", a->function, "The function that --run runs, if there are several").type_name("NAME");
  c.add_option("--size", a->sizes,
               "The value of a symbolic size, for --run and for the plan of the memory (default: 32 or the nearest "
               "allowed). May be repeated")
      .type_name("NAME=NUMBER");
  c.add_option("--html", a->html, "Write the page to this file, which needs no server, and exit").type_name("FILE");
  c.add_option("--weight-bytes", a->weight_bytes,
               "With --html: limit for the weights that histograms and errors read: bytes, or 512MB, 2GB")
      .as_bytes()
      .type_name("BYTES")
      .capture_default_str();
  require_range(c.add_option("--port", a->port, "The port of the server; 0: any that is free").capture_default_str(),
                bounds::kPort);
  c.add_flag("--no-browser", a->no_browser, "Print the address, and do not open a browser");
  c.footer(
      "Examples:\n  tern view model.tern\n  tern view model.tern --run --size batch=8\n"
      "  tern view model.tern model-int8.tern --html compared.html\n\n"
      "The server answers on 127.0.0.1 only, at an address with a random token, which is the only line on standard "
      "output, until Ctrl-C. The page loads nothing from the network. docs/viewer.md describes it.");
  c.callback([a, &line] { line.status = run_view(*a); });
}

}  // namespace tern
