#include "exporter/llm/add_generation.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "exporter/builder.h"
#include "exporter/llm/filled_slots.h"
#include "exporter/llm/last_row.h"
#include "exporter/llm/sampling.h"
#include "exporter/llm/signature.h"
#include "exporter/llm/slots/give_slots.h"
#include "exporter/llm/slots/in_slot.h"
#include "exporter/llm/slots/over_texts.h"
#include "exporter/llm/specialise.h"
#include "exporter/rewrite.h"
#include "generation/names.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

std::vector<std::uint32_t> entries(const Program& program) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < program.functions.size(); ++i) {
    if (program.functions[i].entry) found.push_back(i);
  }
  return found;
}

/// Moves the nodes from `first` on to the front: they check and prepare inputs.
void move_to_front(Function& f, std::size_t first) {
  std::rotate(f.nodes.begin(), f.nodes.begin() + static_cast<std::ptrdiff_t>(first), f.nodes.end());
}

enum class StepKind : std::uint8_t {
  samples,           ///< chooses a token; the session's generator draws
  samples_in_slots,  ///< the same, with the numbers that decide each text's draws
  verifies,          ///< gives the logits of all tokens
};

class AddGenerationStep {
 public:
  AddGenerationStep(Program& program, std::uint32_t function, const DecoderSignature& signature, StepKind kind)
      : b_(program, function), signature_(signature), kind_(kind) {}

  /// Gives the function the inputs and results of names.h. Returns how many attention nodes read the filled slots
  /// alone.
  std::size_t add_step() {
    const std::size_t old_node_count = b_.function().nodes.size();
    replace_inputs();
    const std::size_t added_count = b_.function().nodes.size() - old_node_count;
    move_to_front(b_.function(), old_node_count);
    const std::size_t changed_count = read_filled_slots(b_, filled_, added_count, signature_.slots);
    replace_results();
    return changed_count;
  }

 private:
  ValueId add_input(std::string_view name, TensorType type) {
    const ValueId v = b_.add_value(std::move(type), std::string(name));
    inputs_.push_back({FunctionInput::Kind::user, v, 0, std::string(name), {}});
    return v;
  }

  void check(ValueId right, const std::string& message) {
    b_.add_all(Op::assert_true, {right}, {attr_text(AttrKey::text, message)});
  }

  void replace_inputs() {
    const std::vector<FunctionInput> old_inputs = b_.function().inputs;
    const ValueId old_tokens = old_inputs[signature_.tokens].value,
                  old_position = old_inputs[signature_.position].value;
    const ValueId tokens = add_input(llm::kTokens, {DType::i64, {1, signature_.count}});
    const ValueId position = add_input(llm::kPosition, {DType::i64, {1}});
    if (kind_ != StepKind::verifies) {
      sampling_.temperature = add_input(llm::kTemperature, {DType::f32, {}});
      sampling_.top_k = add_input(llm::kTopK, {DType::i64, {}});
      sampling_.top_p = add_input(llm::kTopP, {DType::f32, {}});
    }
    if (kind_ == StepKind::samples_in_slots) {
      sampling_.seed = add_input(llm::kSeed, {DType::i64, {}});
      sampling_.draw = add_input(llm::kDraw, {DType::i64, {}});
    }
    check_inputs(tokens, position);
    const ValueId as_tokens = b_.cast(tokens, b_.dtype(old_tokens));
    const ValueId as_position = positions(position, b_.type(old_position));
    // Existing nodes read the replacements of the old inputs.
    use_instead(b_.function(), old_tokens, as_tokens);
    use_instead(b_.function(), old_position, as_position);
    for (const FunctionInput& input : old_inputs) {
      if (input.kind == FunctionInput::Kind::state) inputs_.push_back(input);
    }
    b_.function().inputs = inputs_;
  }

  void check_inputs(ValueId tokens, ValueId position) {
    const std::int64_t slots = signature_.slots, last = signature_.vocabulary - 1;
    const Dim n = signature_.count;
    if (!n.is_const()) {
      b_.add_all(
          Op::assert_dim, {},
          {attr(AttrKey::dim, b_.pool().le(1, n)), attr_text(AttrKey::text, "tokens must have at least one token id")});
    }
    const ValueId start = b_.reshape(position, {});
    filled_ = b_.expr("p + n", {{"p", start}, {"n", b_.from_dim(n)}}, DType::i64);
    // Not p + n <= c: the sum wraps for a huge position.
    check(b_.expr("p >= 0 && p <= c - n", {{"p", start}, {"n", b_.from_dim(n)}, {"c", static_cast<double>(slots)}},
                  DType::i64, DType::boolean),
          fmt::format("the cache is full: position and the number of tokens must together be at most {}, and position "
                      "not negative",
                      slots));
    const ValueId is_valid = b_.expr("t >= 0 && t <= last", {{"t", tokens}, {"last", static_cast<double>(last)}},
                                     DType::i64, DType::boolean);
    check(b_.reduce(is_valid, "all", {0, 1}, false, DType::boolean),
          fmt::format("tokens has an id outside the model's vocabulary: ids are 0 to {}", last));
    if (kind_ != StepKind::verifies) add_sampling_checks(b_, sampling_);
  }

  /// First position, or the position of each token, in the program's own form.
  ValueId positions(ValueId first, const TensorType type) {
    ValueId v = first;
    const bool has_positions = type.rank() > 0 && !type.shape.back().is(1);
    if (has_positions) v = b_.expr("i + p", {{"i", b_.iota(signature_.count, DType::i64)}, {"p", first}}, DType::i64);
    return b_.cast(b_.reshape(v, type.shape), type.dtype);
  }

  void replace_results() {
    const std::size_t axis = 1;
    ValueId logits = signature_.logits, token = kNoValue;
    if (kind_ == StepKind::verifies) {
      logits = b_.cast(logits, DType::f32);
      token = b_.reduce(logits, "argmax", {2}, false, DType::i64);
    } else {
      if (b_.rank(logits) == 3) logits = last_row(b_, logits, axis);
      logits = b_.cast(b_.reshape(logits, {1, signature_.vocabulary}), DType::f32);
      token = b_.reshape(add_sampling(b_, b_.reshape(logits, {signature_.vocabulary}), sampling_), {1, 1});
    }
    Function& f = b_.function();
    f.outputs = {{FunctionOutput::Kind::tensor, token, std::string(llm::kToken)},
                 {FunctionOutput::Kind::tensor, logits, std::string(llm::kLogits)}};
    f.in_tree.clear();
    f.out_tree.clear();
  }

  Builder b_;
  DecoderSignature signature_;
  StepKind kind_;
  std::vector<FunctionInput> inputs_;
  SamplingInputs sampling_;
  ValueId filled_ = kNoValue;  ///< positions with keys and values after the run
};

void check_token(std::int64_t id, std::int64_t vocabulary, std::string_view option) {
  if (id < 0 || id >= vocabulary) {
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: the model has no token {}; ids are 0 to {}", option, id, vocabulary - 1));
  }
}

void note_metadata(Program& program, const GenerationOptions& options, const GenerationReport& report) {
  const auto note = [&](std::string_view key, const std::string& value) { program.metadata.emplace_back(key, value); };
  note(llm::kVersionKey, std::string(options.batch > 0 ? llm::kSlotsVersion : llm::kVersion));
  if (options.batch > 0) note(llm::kBatchKey, std::to_string(options.batch));
  note(llm::kContextKey, std::to_string(report.context));
  note(llm::kVocabularyKey, std::to_string(report.vocabulary));
  if (report.verify > 0) note(llm::kVerifyKey, std::to_string(report.verify));
  if (options.bos) note(llm::kBeginKey, std::to_string(*options.bos));
  if (!options.eos.empty()) note(llm::kEndKey, fmt::format("{}", fmt::join(options.eos, ", ")));
}

/// The file's own functions for several tokens and for one token, if present.
std::optional<std::pair<std::uint32_t, std::uint32_t>> find_model_steps(const Program& program) {
  const int prefill = program.find_entry(std::string(llm::kPrefill)),
            decode = program.find_entry(std::string(llm::kDecode));
  if (entries(program).size() != 2 || prefill < 0 || decode < 0) return {};
  return std::pair{static_cast<std::uint32_t>(prefill), static_cast<std::uint32_t>(decode)};
}

/// The program's own two functions, or its only function and a copy.
std::pair<std::uint32_t, std::uint32_t> steps(Program& program, std::uint32_t function, const DecoderSignature& first) {
  if (const auto model_steps = find_model_steps(program)) return *model_steps;
  const int symbol = program.pool.symbol_of(first.count);
  if (symbol < 0) {
    fail(ErrorCode::invalid_argument,
         "--llm: the program takes one token in each run; export it with a dynamic number of tokens "
         "(dynamic_shapes={'input_ids': {1: torch.export.Dim.DYNAMIC}, ...}, docs/generate.md)");
  }
  return {function, specialise(program, function, symbol, 1, std::string(llm::kDecode))};
}

std::uint32_t first_entry(const Program& program) {
  if (const auto model_steps = find_model_steps(program)) return model_steps->first;
  const std::vector<std::uint32_t> found = entries(program);
  if (found.size() == 1) return found[0];
  std::string names;
  for (const std::uint32_t i : found) names += (names.empty() ? "" : ", ") + program.functions[i].name;
  fail(ErrorCode::invalid_argument,
       fmt::format("--llm takes a file of one program, or of two named prefill and decode; this one has {}", names));
}

/// Copies the function of several tokens to verify, if it gives the logits of all tokens.
std::optional<std::uint32_t> add_verify(Program& program, std::uint32_t prefill, const DecoderSignature& signature,
                                        const GenerationOptions& options, GenerationReport& report) {
  const Function& f = program.functions[prefill];
  const Dims& logits = f.values[static_cast<std::size_t>(signature.logits)].type.shape;
  const int symbol = program.pool.symbol_of(signature.count);
  if (symbol < 0 || logits.size() != 3 || logits[1] != signature.count) return {};
  const std::int64_t upper =
      std::min({llm::kMaxVerified, signature.slots, program.pool.symbols()[static_cast<std::size_t>(symbol)].max});
  if (upper < 2) return {};
  const Dim count = program.pool.new_symbol("proposed", 2, upper);
  const std::uint32_t verify = specialise(program, prefill, symbol, count, std::string(llm::kVerify));
  AddGenerationStep(program, verify, decoder_signature(program, program.functions[verify], options.context),
                    StepKind::verifies)
      .add_step();
  report.verify = upper;
  return verify;
}

/// The functions serve one text up to here.
void work_in_slots(Program& program, std::uint32_t prefill, std::uint32_t decode, std::optional<std::uint32_t> verify,
                   std::int64_t slots) {
  std::vector<std::uint32_t> functions = {prefill, decode};
  if (verify) functions.push_back(*verify);
  SlotOptions options{.slotted = give_slots(program, functions, slots), .slots = slots};
  work_in_slot(program, prefill, options);
  if (verify) work_in_slot(program, *verify, options);
  options.texts = program.pool.new_symbol("texts", 1, slots);
  run_over_texts(program, decode, options);
}

}  // namespace

GenerationReport add_generation(Program& program, const GenerationOptions& options) {
  const std::uint32_t first = first_entry(program);
  DecoderSignature signature = decoder_signature(program, program.functions[first], options.context);
  if (signature.position_symbol >= 0) {
    replace_symbol(program, first, signature.position_symbol, signature.count);
    signature = decoder_signature(program, program.functions[first], options.context);
  }
  GenerationReport report{.context = signature.slots, .vocabulary = signature.vocabulary};
  if (options.bos) check_token(*options.bos, signature.vocabulary, "--bos");
  for (const std::int64_t id : options.eos) check_token(id, signature.vocabulary, "--eos");
  const auto [prefill, decode] = steps(program, first, signature);
  const DecoderSignature decode_signature = decoder_signature(program, program.functions[decode], options.context);
  if (!decode_signature.count.is(1) || decode_signature.vocabulary != signature.vocabulary ||
      decode_signature.slots != signature.slots) {
    fail(ErrorCode::invalid_argument,
         "--llm: decode must take one token, and have the vocabulary and the cache of prefill");
  }
  program.functions[prefill].name = llm::kPrefill;
  const std::optional<std::uint32_t> verify = add_verify(program, prefill, signature, options, report);
  const StepKind kind = options.batch > 0 ? StepKind::samples_in_slots : StepKind::samples;
  AddGenerationStep(program, prefill, signature, kind).add_step();
  report.attention = AddGenerationStep(program, decode, decode_signature, kind).add_step();
  if (options.batch > 0) work_in_slots(program, prefill, decode, verify, options.batch);
  note_metadata(program, options, report);
  remove_dead_code(program);
  return report;
}

}  // namespace tern
