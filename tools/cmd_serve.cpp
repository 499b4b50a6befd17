// tern serve: a language model behind OpenAI's HTTP interface.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text_engine.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "platform/environment.h"
#include "platform/signals.h"
#include "tools/command.h"
#include "tools/generation/options.h"
#include "tools/http/server.h"
#include "tools/serve/site.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1";

struct ServeArguments {
  EngineArguments engine;
  std::string name, embedder, host = std::string(kLoopback), key_file;
  int port = 8080;
  std::uint64_t body_bytes = 4 << 20;
  std::size_t queue = 64;
  std::int64_t max_tokens = 0;
  double time_limit = 600, finish_seconds = 30;
};

/// The key of --api-key-file, else of TERN_API_KEY; empty: none. A key among the arguments would be visible to other
/// users.
std::string read_key(const ServeArguments& a) {
  std::string key = platform::trusted_variable("TERN_API_KEY").value_or("");
  if (!a.key_file.empty()) {
    std::ifstream file(a.key_file);
    if (!std::getline(file, key) || key.empty())
      fail(ErrorCode::io, fmt::format("--api-key-file: '{}' has no key in its first line", escape_name(a.key_file)));
  }
  for (const char c : key) {
    if (c <= ' ' || c > '~') fail(ErrorCode::invalid_argument, "the API key has a character other than visible ASCII");
  }
  return key;
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1";
}

std::string url_host(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::chrono::milliseconds as_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

int run_serve(const ServeArguments& a) {
  serve::SiteOptions site_options;
  site_options.api_key = read_key(a);
  if (!is_loopback(a.host) && site_options.api_key.empty()) {
    fail(ErrorCode::invalid_argument,
         "--host: other machines may reach this address, so the server needs a key: --api-key-file FILE or the "
         "environment variable TERN_API_KEY");
  }
  const Model model = Model::open(a.engine.model);
  const std::string name = a.name.empty() ? std::filesystem::path(a.engine.model).stem().string() : a.name;
  const bool generates = !embeds_texts(model);
  if (!generates && !a.embedder.empty())
    fail(ErrorCode::invalid_argument, "--embedder: the served model embeds texts itself");
  (generates ? site_options.model : site_options.embedder) = name;
  if (!a.embedder.empty()) site_options.embedder = std::filesystem::path(a.embedder).stem().string();
  site_options.max_tokens = a.max_tokens;
  site_options.time_limit = as_milliseconds(a.time_limit);
  TextEngineOptions engine_options;
  engine_options.queue_limit = a.queue;
  std::unique_ptr<TextEngine> engine;
  std::unique_ptr<TextEmbedder> embedder;
  if (generates) engine = make_engine(model, a.engine, engine_options);
  if (!generates) embedder = make_embedder(model, a.engine, true);
  if (!a.embedder.empty()) embedder = make_embedder(Model::open(a.embedder), a.engine, false);
  serve::ModelSite site(engine.get(), embedder.get(), find_chat_template(model, a.engine), site_options);

  http::ServerOptions options;
  options.host = a.host;
  options.port = a.port;
  options.limits.request.body_bytes = static_cast<std::size_t>(a.body_bytes);
  // Every running and waiting request occupies a thread; the others tell clients that the queue is full.
  options.limits.answers = static_cast<std::size_t>(engine ? engine->slots() : 1) + a.queue + 16;
  options.limits.connections = options.limits.answers + 256;
  options.limits.to_ask = std::chrono::seconds(30);
  options.threads = options.limits.answers;
  options.to_finish = as_milliseconds(a.finish_seconds);
  options.answer = [&](const http::Request& request) { return site.answer(request); };
  const platform::Interrupt interrupt;
  options.on_ready = [&](int port) {
    const std::string address = url_host(a.host) + ":" + std::to_string(port);
    if (is_loopback(a.host)) site.set_hosts({address, "localhost:" + std::to_string(port)});
    fmt::print("http://{}/v1\n", address);
    std::fflush(stdout);
    if (engine) {
      fmt::print(stderr, "serves '{}' with {} slots of {} tokens; Ctrl-C ends the server\n",
                 escape_name(site_options.model), engine->slots(), engine->context());
    }
    if (embedder) {
      fmt::print(stderr, "serves '{}': vectors of {} numbers for texts of at most {} tokens{}\n",
                 escape_name(site_options.embedder), embedder->dimensions(), embedder->context(),
                 engine ? "" : "; Ctrl-C ends the server");
    }
  };
  options.ended = [&] { return interrupt.received_signal() == 0 ? 0 : 1; };
  http::serve(options, "tern serve", "");
  return 0;
}

}  // namespace

void add_serve_command(Command app, CommandLine& line) {
  auto a = std::make_shared<ServeArguments>();
  const Command c = app.add_subcommand("serve", "Serve a language model by OpenAI's HTTP interface");
  add_engine_options(c, a->engine);
  add_chat_options(c, a->engine);
  require_range(c.add_option("--port", a->port, "The port of the server; 0: any that is free").capture_default_str(),
                bounds::kPort);
  c.add_option("--host", a->host,
               "The address of the interface. Others than this machine's own need a key, because other machines may "
               "reach them")
      .type_name("ADDRESS")
      .capture_default_str();
  c.add_option("--api-key-file", a->key_file,
               "File with the key of clients in its first line; else the environment variable TERN_API_KEY")
      .type_name("FILE");
  c.add_option("--name", a->name, "Name of the model in requests (default: the archive's name without .tern)")
      .type_name("NAME");
  c.add_option("--embedder", a->embedder,
               "An archive of 'tern export --embeddings' for /v1/embeddings, beside the model; its name there is the "
               "archive's")
      .type_name("ARCHIVE");
  require_range(c.add_option("--queue", a->queue, "Limit of requests that wait for a slot").capture_default_str(),
                bounds::kWaiting);
  require_range(c.add_option("--max-tokens", a->max_tokens, "Limit of each answer's tokens; 0: the model's context")
                    .capture_default_str(),
                bounds::kTokens);
  c.add_option("--body-bytes", a->body_bytes, "Limit of a request's body: bytes, or 512KB, 4MB")
      .as_bytes()
      .type_name("BYTES")
      .capture_default_str();
  require_range(c.add_option("--time-limit", a->time_limit, "Limit of seconds for a request").capture_default_str(),
                bounds::kSeconds);
  require_range(
      c.add_option("--finish-seconds", a->finish_seconds, "Seconds that running requests get after Ctrl-C or SIGTERM")
          .capture_default_str(),
      bounds::kFinishSeconds);
  c.footer(
      "Examples:\n  tern serve llm.tern\n"
      "  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\\n"
      "      -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Where do terns nest?\"}]}'\n\n"
      "Prints its address, the only line on standard output, and serves until Ctrl-C or SIGTERM. Paths: "
      "/v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models, /health, /metrics (Prometheus). Archives of "
      "'tern export "
      "--llm --batch N' answer N requests at once. docs/serve.md describes requests and limits.");
  c.callback([a, &line] { line.status = run_serve(*a); });
}

}  // namespace tern
