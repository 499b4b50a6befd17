// Puts the files of a tokenizer and a chat template into a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Attaches the files of a folder of Hugging Face (tokenizer.json or tokenizer.model, tokenizer_config.json,
/// chat_template.jinja, generation_config.json), or a single tokenizer. Returns notes for people: names of the files,
/// and parts that this version cannot run. Throws io without a tokenizer, bad_file for a broken one.
std::vector<std::string> attach_tokenizer(Program& program, const std::string& path);

/// Opens the tokenizer and the chat template as applications do, and returns notes about unsupported parts. Texts may
/// be empty. Throws bad_file for broken ones. Builds without libtern_text return no notes.
std::vector<std::string> check_text_files(std::string_view tokenizer, std::string_view configuration,
                                          std::string_view chat_template);

}  // namespace tern
