#include "generation/facts.h"

#include <fmt/format.h>

#include <string>

#include "generation/metadata_numbers.h"
#include "generation/names.h"

namespace tern::llm {
namespace {

constexpr std::int64_t kMaxSlots = 65536;

}  // namespace

Facts read_facts(const Model& model) {
  const std::string* version = find_fact(model, kVersionKey);
  if (version == nullptr) {
    fail(ErrorCode::invalid_argument,
         "the archive does not generate tokens; make it by 'tern export --llm' or tern.export_llm()");
  }
  if (*version != kVersion && *version != kSlotsVersion) {
    fail(ErrorCode::unsupported, fmt::format("the archive follows version {} of the rules for generating tokens; this "
                                             "version of Tern knows {} and {}",
                                             *version, kVersion, kSlotsVersion));
  }
  Facts facts{
      positive_number(model, kContextKey), positive_number(model, kVocabularyKey), {}, numbers_of(model, kEndKey)};
  if (*version == kSlotsVersion) facts.batch = positive_number(model, kBatchKey);
  if (find_fact(model, kVerifyKey) != nullptr) facts.verify = positive_number(model, kVerifyKey);
  if (facts.batch > kMaxSlots)
    fail(ErrorCode::bad_file, fmt::format("the archive's metadata {} is above {}", kBatchKey, kMaxSlots));
  const std::vector<std::int64_t> bos = numbers_of(model, kBeginKey);
  if (!bos.empty()) facts.bos = bos[0];
  return facts;
}

}  // namespace tern::llm
