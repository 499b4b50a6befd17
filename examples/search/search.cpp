// Finds the sentences of a file nearest in meaning to a query. README.md shows the usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "embedder.h"
#include "npy.h"

namespace {

struct Options {
  std::string corpus, model = "build/search", save;
  std::vector<std::string> queries;
  std::size_t top = 5;
  int threads = 0;
  bool json = false;
};

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") != line.npos) lines.push_back(line);
  }
  if (file.bad()) throw std::runtime_error("cannot read " + path);
  if (lines.empty()) throw std::runtime_error(path + " has no sentences: it takes one in each line");
  return lines;
}

void print(const std::string& query, const Nearest& found, const std::vector<std::string>& sentences) {
  std::printf("%s\n", query.c_str());
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    std::printf("  %6.3f  %s\n", found.cosines[i], sentences[static_cast<std::size_t>(found.rows[i])].c_str());
  }
}

int search(const Options& options) {
  const std::vector<std::string> sentences = read_lines(options.corpus);
  tern::PrepareOptions prepare;
  prepare.threads = options.threads;
  Embedder embedder(options.model, prepare);
  const tern::Tensor corpus = embedder.embed(sentences);
  if (!options.save.empty()) write_npy(options.save, corpus);
  const auto found = embedder.nearest(embedder.embed(options.queries), corpus, options.top);
  auto report = nlohmann::json::array();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (options.json) {
      report.push_back({{"query", options.queries[i]}, {"rows", found[i].rows}, {"cosines", found[i].cosines}});
    } else {
      print(options.queries[i], found[i], sentences);
    }
  }
  // Replaces invalid UTF-8 from the command line, which would otherwise throw.
  if (options.json) std::puts(report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Finds the sentences of a file that are nearest in meaning to a query.");
  app.footer("Example: search corpus.txt 'How is bread made?' --top 3");
  Options options;
  app.add_option("CORPUS", options.corpus, "A text file with a sentence in each line")->required();
  app.add_option("QUERY", options.queries, "What to look for; several are answered one after the other")->required();
  app.add_option("--model", options.model, "Folder with search.tern and vocab.txt, as make.sh writes it")
      ->capture_default_str();
  app.add_option("--top", options.top, "Sentences for each query")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--save", options.save, "Also write the sentences' vectors to this .npy file");
  app.add_option("--threads", options.threads, "Threads of a run; 0: as many as OpenMP reports")
      ->check(CLI::Range(0, 1024));
  app.add_flag("--json", options.json, "Print rows, from 0, and cosines as JSON");
  CLI11_PARSE(app, argc, argv);
  return search(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "search: %s\n", error.what());
  return 1;
}
