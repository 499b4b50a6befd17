// Prints the numbers of word pieces: tokens VOCAB.TXT LIMIT reads a JSON string in each line. For the tests.
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bert_tokenizer.h"

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fputs("usage: tokens VOCAB.TXT LIMIT < STRINGS.jsonl\n", stderr);
    return 2;
  }
  const BertTokenizer tokenizer(argv[1]);
  const std::size_t limit = std::stoul(argv[2]);
  for (std::string line; std::getline(std::cin, line);) {
    const auto text = nlohmann::json::parse(line).get<std::string>();
    std::puts(nlohmann::json(tokenizer.encode(text, limit)).dump().c_str());
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "tokens: %s\n", error.what());
  return 1;
}
