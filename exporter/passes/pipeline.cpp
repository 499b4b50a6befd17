#include "exporter/passes/pipeline.h"

#include <algorithm>
#include <utility>

#include "exporter/gradients/detach.h"
#include "exporter/gradients/notes.h"
#include "exporter/importer.h"
#include "exporter/passes/passes.h"
#include "schema/node_precision.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

bool always(const ImportOptions&) {
  return true;
}
bool has_transform(const ImportOptions& o) {
  return static_cast<bool>(o.transform);
}
bool drops_origins(const ImportOptions& o) {
  return !o.origins;
}
bool folds(const ImportOptions& o) {
  return o.fold;
}
bool skips_folding(const ImportOptions& o) {
  return !o.fold;
}
bool quantizes(const ImportOptions& o) {
  return o.quantizes();
}
/// True if `full_precision_nodes` applies to nodes; beside `quantize` alone it selects weights.
bool notes_precision(const ImportOptions& o) {
  return o.precision != DType::invalid || !o.quantizes();
}
bool narrows(const ImportOptions& o) {
  return o.precision != DType::invalid;
}

template <auto kPass>
void run_on_program(PassContext& c) {
  kPass(c.program);
}

void run_transform(PassContext& c) {
  c.options.transform(c.program);
}

void run_remove_origins(PassContext& c) {
  c.program.origins.clear();
  for (Function& f : c.program.functions) {
    for (Node& n : f.nodes) n.origin = -1;
  }
}

void run_note_unfolded(PassContext& c) {
  c.program.metadata.emplace_back("folded", "");
}

void run_quantize_weights(PassContext& c) {
  c.report.quantized = quantize_weights(c.program, c.options.quantize, c.options.full_precision_nodes,
                                        c.options.choices, c.options.samples.get());
}

void run_note_precision(PassContext& c) {
  const bool to_bfloat16 = c.options.precision == DType::bf16;
  c.report.narrowed = note_precision(c.program, to_bfloat16 ? Precision::bfloat16 : Precision::exported,
                                     c.options.full_precision_nodes);
}

void run_narrow_weights(PassContext& c) {
  c.report.narrowed += narrow_weights(c.program, c.options.precision);
}

// clang-format off
#define TERN_PASS(name) #name, run_on_program<name>
#define TERN_OPTION_PASS(name) #name, run_##name
constexpr Pass kExportPasses[] = {
    // name and function                   stage             when it runs     passes before
    {TERN_PASS(remove_dead_code),          Stage::lowered,   has_transform,   {}},
    {TERN_OPTION_PASS(transform),          Stage::lowered,   has_transform,   {"remove_dead_code"}},
    {TERN_PASS(remove_detached),           Stage::lowered,   always,          {"transform"}},
    {TERN_PASS(remove_dead_code),          Stage::lowered,   always,          {"remove_detached"}},
    {TERN_OPTION_PASS(remove_origins),     Stage::lowered,   drops_origins,   {"transform"}},
    {TERN_PASS(remove_gradient_notes),     Stage::lowered,   always,          {"transform"}},

    {TERN_PASS(take_planes_first),         Stage::quantized, always,          {"remove_dead_code"}},
    {TERN_PASS(pack_microscaling),         Stage::quantized, always,          {"take_planes_first"}},
    {TERN_PASS(keep_integers),             Stage::quantized, always,          {"remove_dead_code"}},
    {TERN_PASS(multiply_integers),         Stage::quantized, always,          {"keep_integers", "pack_microscaling"}},
    {TERN_PASS(multiply_signed_integers),  Stage::quantized, always,          {"remove_dead_code"}},
    {TERN_PASS(take_float_sums),           Stage::quantized, always,          {"multiply_integers", "multiply_signed_integers"}},
    {TERN_PASS(read_quantized_tables),     Stage::quantized, always,          {"take_planes_first", "pack_microscaling"}},
    {TERN_PASS(read_byte_weights),         Stage::quantized, always,          {"read_quantized_tables"}},
    {TERN_PASS(read_quantized_weights),    Stage::quantized, always,          {"multiply_integers", "read_byte_weights"}},
    {TERN_PASS(remove_superseded_weights), Stage::quantized, always,          {"read_quantized_weights"}},

    {TERN_PASS(turn_halves_in_place),      Stage::fold,      always,          {"remove_dead_code"}},
    {TERN_PASS(fold_constants),            Stage::fold,      folds,           {"read_quantized_weights", "turn_halves_in_place"}},
    {TERN_OPTION_PASS(note_unfolded),      Stage::fold,      skips_folding,   {}},

    {TERN_OPTION_PASS(quantize_weights),   Stage::quantize,  quantizes,       {"fold_constants"}},

    {TERN_PASS(overlap_collectives),       Stage::simplify,  always,          {"remove_dead_code"}},
    {TERN_PASS(inline_numbers),            Stage::simplify,  always,          {"fold_constants"}},
    {TERN_PASS(share_common_nodes),        Stage::simplify,  always,          {"inline_numbers"}},
    {TERN_PASS(read_joined_operands),      Stage::simplify,  always,          {"inline_numbers"}},
    {TERN_PASS(remove_dead_code),          Stage::simplify,  always,          {"share_common_nodes", "read_joined_operands"}},
    {TERN_PASS(recognise_norms),           Stage::simplify,  always,          {"share_common_nodes", "remove_dead_code"}},
    {TERN_PASS(remove_dead_code),          Stage::simplify,  always,          {"recognise_norms"}},
    {TERN_PASS(recognise_optimizers),      Stage::simplify,  always,          {"inline_numbers", "remove_dead_code"}},

    {TERN_PASS(store_weights_by_columns),  Stage::storage,   always,          {"quantize_weights"}},
    {TERN_OPTION_PASS(note_precision),     Stage::storage,   notes_precision, {"quantize_weights"}},
    {TERN_OPTION_PASS(narrow_weights),     Stage::storage,   narrows,         {"store_weights_by_columns", "note_precision"}},
};
// clang-format on
#undef TERN_PASS
#undef TERN_OPTION_PASS

/// True if stages ascend, and each pass stands behind the passes that it needs.
consteval bool is_in_order(std::span<const Pass> table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::span<const Pass> earlier = table.first(i);
    if (i > 0 && table[i].stage < table[i - 1].stage) return false;
    for (const char* name : table[i].prerequisites) {
      if (name != nullptr && std::ranges::find(earlier, std::string_view(name), &Pass::name) == earlier.end())
        return false;
    }
  }
  return true;
}
static_assert(is_in_order(kExportPasses));

}  // namespace

std::span<const Pass> passes() {
  return kExportPasses;
}

void run_passes(Program& program, Stage first, Stage last, const ImportOptions& options, ImportReport* report) {
  ImportReport unused_report;
  PassContext context{program, options, report == nullptr ? unused_report : *report};
  for (const Pass& p : kExportPasses) {
    if (p.stage >= first && p.stage <= last && p.is_enabled(options)) p.run(context);
  }
}

}  // namespace tern
