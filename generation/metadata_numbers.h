// Facts in an archive's metadata.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::llm {

/// Null if the archive lacks the key.
const std::string* find_fact(const Model& model, std::string_view key);
/// The numbers, 0 or more, of "2, 7"; none if the archive lacks the key. Throws bad_file for another text.
std::vector<std::int64_t> numbers_of(const Model& model, std::string_view key);
/// A single number above 0. Throws bad_file without one.
std::int64_t positive_number(const Model& model, std::string_view key);

}  // namespace tern::llm
