// tern export: converts a .pt2 file or a GGUF file to a .tern archive.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "exporter/archive_writer.h"
#include "exporter/constants.h"
#include "exporter/file_kind.h"
#include "exporter/gguf/import.h"
#include "exporter/importer.h"
#include "exporter/kernels/add_kernels.h"
#include "exporter/tune/tune.h"
#include "loader/archive.h"
#include "loader/validate.h"
#include "runtime/pack.h"
#include "tools/annotate.h"
#include "tools/command.h"
#include "tools/files/any.h"
#include "tools/json_text.h"
#include "tools/llm_options.h"
#include "tools/name_sizes.h"
#include "tools/output.h"
#include "tools/quantize/calibrate.h"
#include "tools/quantize/chart.h"
#include "tools/quantize/options.h"
#include "tools/quantize/report.h"
#include "tools/relations.h"
#include "tools/same_file.h"
#include "tools/sizes.h"
#include "tools/subgroups.h"
#include "tools/terminal.h"
#include "tools/text_files/attach.h"
#include "tools/train/activation_memory.h"
#include "tools/train/export_options.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

struct ExportArguments {
  std::string input, output, compress, precision, tokenizer;
  QuantizeArguments quantize;
  TrainArguments train;
  LlmArguments llm;
  std::vector<std::string> kept_patterns;
  std::vector<std::pair<std::string, std::string>> annotations;
  std::vector<std::string> targets, sizes, size_names, ignored_guards, groups;
  double tune_seconds = 60;
  bool tune = false, custom_ops = false, unchecked_guards = false, no_fold = false, no_origins = false, verify = false,
       json = false;
};

/// "zstd" or "zstd:LEVEL", "none".
void parse_compress(const std::string& text, WriteOptions* options) {
  if (text.empty() || text == "none") return;
  const std::size_t colon = text.find(':');
  const std::string level = colon == std::string::npos ? "3" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(level.data(), level.data() + level.size(), options->level);
  if (text.substr(0, colon) != "zstd" || error != std::errc() || end != level.data() + level.size() ||
      options->level < 1 || options->level > 22) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--compress takes none, zstd or zstd:LEVEL with a level from 1 to 22, not '{}'",
                     escape_name(text)));
  }
  options->codec = WriteOptions::Codec::zstd;
}

DType parse_precision(const std::string& text) {
  if (text.empty()) return DType::invalid;
  const DType t = text == "bf16" ? DType::bf16 : text == "f16" ? DType::f16 : dtype_from_name(text);
  if (t != DType::bf16 && t != DType::f16) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--precision takes bfloat16 or float16, not '{}'", escape_name(text)));
  }
  return t;
}

void verify_archive(const std::string& path) {
  const std::vector<Finding> findings = validate_archive(path);
  if (findings.empty()) return;
  fail(ErrorCode::internal,
       fmt::format("the written archive breaks {} rules; the first: {}", findings.size(), describe(findings.front())));
}

Json tune_report_json(const TuneReport& t) {
  Json j = {{"processor", t.tuning.processor},
            {"threads", t.tuning.threads},
            {"before_ms", json_rounded(t.seconds_before * 1e3, 4)},
            {"after_ms", json_rounded(t.seconds_after * 1e3, 4)},
            {"trials", t.trials},
            {"complete", t.complete},
            {"kinds", Json::array()}};
  for (const TunedKind& k : t.kinds)
    j["kinds"].push_back({{"what", k.description},
                          {"nodes", k.nodes},
                          {"before", name_of(k.rule_choice)},
                          {"after", name_of(k.tuned_choice)}});
  return j;
}

void print_tuning(const TuneReport& t) {
  for (const std::string& f : t.left_out) print_output(fmt::format("not tuned: {}\n", escape_name(f, 400)));
  for (const TunedKind& k : t.kinds)
    print_output(fmt::format("{} x {}: {} instead of {}\n", k.nodes, k.description, name_of(k.tuned_choice),
                             name_of(k.rule_choice)));
  const std::string gain =
      t.kinds.empty() ? "no algorithm is faster than the default choice"
                      : fmt::format("{:.3f} ms a run for {:.3f} before", t.seconds_after * 1e3, t.seconds_before * 1e3);
  print_output(fmt::format("tuned for {}, {} thread{}: {} ({} trials{})\n", t.tuning.processor, t.tuning.threads,
                           t.tuning.threads == 1 ? "" : "s", gain, t.trials,
                           t.complete ? "" : "; more were left when the time was up: --tune-seconds"));
}

void print_quantized(const ExportArguments& a, const QuantizeReport& report, const Calibration* calibration) {
  print_output(weights_text(report));
  if (calibration != nullptr) print_output(calibration_text(*calibration));
  if (a.quantize.draws && a.quantize.chart.empty())
    print_output(fmt::format("{}\n", chart_text(chart_of(report, calibration), output_style())));
}

void print_report(const ExportArguments& a, const Program& program, const ImportReport& import, const WriteReport& w,
                  const std::optional<TuneReport>& tuned, const Calibration* calibration, const Json& further) {
  if (a.json) {
    Json j = {{"output", a.output},
              {"bytes", w.file_size},
              {"index_bytes", w.index_size},
              {"segments", w.segments},
              {"weight_bytes", w.weights},
              {"stored_bytes", w.stored},
              {"traced_nodes", import.traced_nodes},
              {"nodes", import.nodes},
              {"functions", program.functions.size()},
              {"states", program.states.size()}};
    if (a.quantize.is_enabled()) j["quantized"] = quantize_json(import.quantized, calibration);
    if (tuned) j["tuning"] = tune_report_json(*tuned);
    j.update(further);
    print_output(json_text(j) + "\n");
    return;
  }
  if (a.quantize.is_enabled()) print_quantized(a, import.quantized, calibration);
  if (tuned) print_tuning(*tuned);
  std::string names;
  for (const Function& f : program.functions) {
    if (f.entry) names += (names.empty() ? "" : ", ") + escape_name(f.name);
  }
  print_output(fmt::format("{}: {} ({} traced nodes became {}; {} of weights{} in {} segments{})\n",
                           escape_name(a.output), names, import.traced_nodes, import.nodes, human_bytes(w.weights),
                           program.kernels.empty() ? "" : " and kernels", w.segments,
                           w.stored == w.weights ? "" : ", " + human_bytes(w.stored) + " stored"));
  print_output(fmt::format("{}\n", human_bytes(w.file_size)));
}

/// Packs the weights for this machine's processor and replaces the program's packed weights.
void add_packings(Program& program, const SymbolSizes& sizes) {
  const std::vector<Packing> old_packings = std::exchange(program.packings, {});
  PackRecorder recorder =
      pack_weights(std::shared_ptr<const Program>(std::shared_ptr<const Program>(), &program), last_sizes(sizes));
  for (auto& [name, bytes] : recorder.packed) {
    const auto& [storage, key] = name;
    // Copies of both for the lambda: clang before version 16 cannot capture structured bindings.
    const auto old_packing = std::ranges::find_if(old_packings, [storage = storage, key = key](const Packing& p) {
      return p.storage == storage && p.key == key;
    });
    program.packings.push_back(
        {storage, key,
         old_packing != old_packings.end() ? old_packing->packed : add_storage(program, std::move(bytes))});
  }
}

/// Measures the algorithms of the nodes in the archive written before, and stores the best in the program, together
/// with the weights packed for these algorithms.
TuneReport add_tuning(Program& program, const ExportArguments& a, const SymbolSizes& sizes) {
  TuneOptions options;
  options.seconds = a.tune_seconds;
  options.sizes = last_sizes(sizes);
  Progress progress("tuning", 100);
  options.on_progress = [&](double fraction, const std::string& step_name) {
    progress.note(step_name);
    progress.set(static_cast<std::uint64_t>(fraction * 100));
  };
  TuneReport report = tune(Model::open(a.output), options);
  if (report.kinds.empty()) return report;
  program.tunings = {report.tuning};
  add_packings(program, sizes);
  return report;
}

void add_target(Program& program, const std::string& name, const SymbolSizes& sizes, bool quiet) {
  if (name == "cpu") return add_packings(program, sizes);
  const KernelReport report = add_kernels(program, kernel_target(name), sizes);
  if (quiet) return;
  print_output(fmt::format("{}: {} kernels, {}\n", name, report.kernels, human_bytes(report.bytes)));
  for (const std::string& kind : report.left_out)
    print_output(fmt::format("{}: no kernel for a {}\n", name, escape_message(kind, 400)));
}

[[noreturn]] void refuse_nothing_quantized(const QuantizeReport& report) {
  constexpr std::size_t kMaxReasons = 5;
  std::string reasons;
  for (std::size_t i = 0; i < std::min(kMaxReasons, report.unquantized.size()); ++i)
    reasons += fmt::format("{}{}: {}", i == 0 ? "" : "; ", escape_name(report.unquantized[i].name),
                           escape_name(report.unquantized[i].reason, 400));
  if (report.unquantized.size() > kMaxReasons)
    reasons += fmt::format("; and {} more", report.unquantized.size() - kMaxReasons);
  fail(ErrorCode::invalid_argument,
       reasons.empty() ? "--quantize: the program has no floating-point weight that a product or an embedding reads"
                       : "--quantize: no weight is quantized. " + reasons);
}

/// Reads a .pt2 file or a GGUF file, whose first and last tokens `generation` takes where options name none.
Program read_program(const ExportArguments& a, const ImportOptions& options, ImportReport& report,
                     std::optional<GenerationOptions>& generation) {
  if (!is_gguf(a.input)) return import_pt2(a.input, options, &report);
  gguf::GgufImport file = gguf::import_gguf(gguf::File::open(a.input), generation->context, options, &report);
  if (!generation->bos) generation->bos = file.bos;
  if (generation->eos.empty()) generation->eos = file.eos;
  if (!a.json)
    print_output(fmt::format("{}: {}{}\n", escape_name(a.input), file.architecture,
                             file.name.empty() ? "" : ", " + escape_name(file.name)));
  if (!file.note.empty()) print_problem(fmt::format("{}: {}\n", escape_name(a.input), escape_message(file.note, 400)));
  return std::move(file.program);
}

/// Imports the program; the options and the samples choose the storage of weights. Empty if no format is exact enough
/// for the samples.
std::optional<Program> import_program(const ExportArguments& a, ImportOptions options, ImportReport& report,
                                      std::optional<Calibration>& calibration,
                                      std::optional<GenerationOptions>& generation) {
  const std::vector<FormatLadder> ladders = parse_quantize(a.quantize);
  options.quantize = rules_at(ladders, 0);
  if (!a.kept_patterns.empty() && a.precision.empty() && options.quantize.empty()) {
    fail(ErrorCode::invalid_argument, "--keep needs --precision or --quantize");
  }
  options.store_weights = a.quantize.calibrate.empty();
  Program program = read_program(a, options, report, generation);
  leave_out_relations(program, a.ignored_guards);
  name_sizes(program, a.size_names);
  if (options.store_weights) return program;
  extendable_source(program);  // --awq changes weights
  const FloatProgram floats(std::make_shared<const Program>(program), options, a.quantize.function);
  calibration = calibrate(floats, ladders, a.quantize);
  if (calibration->weights.weights.empty() && !calibration->target) refuse_nothing_quantized(calibration->weights);
  if (calibration->target && !calibration->target->met) return std::nullopt;
  options.choices = calibration->choices;
  options.samples = calibration->sample_data;
  store_weights(program, options, &report);
  return program;
}

int run_export(ExportArguments& a) {
  // A GGUF file is always a language model.
  if (is_gguf(a.input)) {
    if (a.llm.embeddings) fail(ErrorCode::invalid_argument, "--embeddings takes a .pt2 file, not a GGUF file");
    a.llm.llm = true;
  } else {
    check_program_file(a.input);
  }
  if (a.output == "-") {
    fail(ErrorCode::invalid_argument,
         "--output - : an archive cannot be written to standard output, because its header is written last; give a "
         "file name");
  }
  if (a.tune && std::ranges::find(a.targets, "cpu") == a.targets.end())
    fail(ErrorCode::invalid_argument, "--tune measures this machine's processor; it needs --target cpu");
  if (a.output.empty()) a.output = std::filesystem::path(a.input).replace_extension(".tern").string();
  refuse_to_replace("--output", a.output, {a.input});
  refuse_to_replace("--report", a.quantize.chart, {a.input, a.output});
  WriteOptions options;
  parse_compress(a.compress, &options);
  std::vector<std::pair<std::string, Annotation>> annotations;
  for (const auto& [pattern, text] : a.annotations) annotations.emplace_back(pattern, parse_annotation(text));
  ImportOptions import_options;
  import_options.custom_ops = a.custom_ops;
  import_options.unchecked_guards = a.unchecked_guards;
  import_options.fold = !a.no_fold;
  import_options.origins = !a.no_origins;
  import_options.precision = parse_precision(a.precision);
  import_options.full_precision_nodes = a.kept_patterns;
  std::optional<TrainingOptions> training = parse_train(a.train);
  if (training) training->precision = import_options.precision;
  check_loss_scale(a.train, import_options.precision);
  std::optional<std::optional<std::uint64_t>> activation_memory;  // set if given: a limit, or the least
  if (!a.train.activation_memory.empty()) activation_memory = parse_activation_memory(a.train.activation_memory);
  std::optional<GenerationOptions> generation = parse_llm(a.llm);
  TrainingReport trained;
  const std::optional<EmbeddingOptions> embedding = parse_embeddings(a.llm);
  if (training && (generation || embedding))
    fail(ErrorCode::invalid_argument, "--llm and --embeddings cannot be combined with --train");
  if (training) {
    if (a.quantize.is_enabled())
      fail(ErrorCode::invalid_argument, "--train cannot be combined with --quantize: it keeps weights as they are");
    import_options.precision = DType::invalid;  // applies to the steps, not to the weights
    import_options.training = true;
    import_options.transform = [&](Program& p) { trained = add_training(p, *training); };
  }
  ImportReport import;
  std::optional<Calibration> calibration;
  std::optional<Program> imported = import_program(a, import_options, import, calibration, generation);
  if (!imported) {
    print_problem(fmt::format("tern: {}\n", missed_target(*calibration, !a.precision.empty())));
    return kExitFindings;
  }
  Program& program = *imported;
  if (import_options.precision != DType::invalid && import.narrowed == 0) {
    fail(ErrorCode::invalid_argument, "--precision: the program has no product, convolution or attention of float32");
  }
  if (a.quantize.is_enabled() && import.quantized.weights.empty()) refuse_nothing_quantized(import.quantized);
  for (const auto& [pattern, annotation] : annotations) {
    if (annotate(program, pattern, annotation) == 0) {
      fail(ErrorCode::invalid_argument,
           fmt::format("--annotate: no node's module path, ATen operator or op matches '{}'; 'tern inspect --nodes' "
                       "shows them",
                       escape_name(pattern)));
    }
  }
  GenerationReport generated;
  if (generation) generated = add_generation(program, *generation);
  EmbeddingReport embedded;
  if (embedding) embedded = add_embedding(program, *embedding);
  std::vector<std::string> text_notes;
  if (!a.tokenizer.empty()) text_notes = attach_tokenizer(program, a.tokenizer);
  hold_groups(program, a.groups);
  const Calibration* const measured = calibration ? &*calibration : nullptr;
  if (!a.quantize.chart.empty()) write_chart(a.quantize.chart, chart_of(import.quantized, measured));
  std::optional<Progress> progress;
  options.on_progress = [&](std::uint64_t completed_bytes, std::uint64_t total) {
    if (!progress) progress.emplace("writing", total);
    progress->set(completed_bytes);
  };
  const SymbolSizes sizes = parse_sizes(a.sizes, program, size_names(program));
  std::vector<LimitedMethod> limited;
  if (activation_memory) limited = limit_activation_memory(program, *activation_memory, last_sizes(sizes));
  for (const std::string& target : a.targets) add_target(program, target, sizes, a.json);
  WriteReport written = write_archive(program, a.output, options);
  progress.reset();
  std::optional<TuneReport> tuned;
  if (a.tune) {
    tuned = add_tuning(program, a, sizes);
    if (!tuned->kinds.empty()) written = write_archive(program, a.output, options);
    progress.reset();
  }
  if (a.verify) verify_archive(a.output);
  if (training && !a.json) print_output(training_text(*training, trained));
  if (generation && !a.json) print_output(generation_text(*generation, generated));
  if (embedding && !a.json) print_output(embedding_text(embedded));
  for (const std::string& note : text_notes) {
    if (!a.json) print_output(escape_message(note, 1000) + "\n");
  }
  if (!a.json) print_output(activation_memory_text(limited));
  Json further = Json::object();
  if (!limited.empty()) further["activation_memory"] = activation_memory_json(limited);
  if (!text_notes.empty()) further["tokenizer"] = text_notes;
  if (generation) further.update({{"context", generated.context}, {"vocabulary", generated.vocabulary}});
  if (embedding) further.update({{"context", embedded.context}, {"dimensions", embedded.dimensions}});
  print_report(a, program, import, written, tuned, measured, further);
  return 0;
}

}  // namespace

void add_export_command(Command app, CommandLine& line) {
  auto a = std::make_shared<ExportArguments>();
  const Command c = app.add_subcommand("export", "Turn a .pt2 file (torch.export.save) into a .tern archive");
  c.add_option("input", a->input, "The .pt2 file, or the GGUF file of a language model (docs/from_llamacpp.md)")
      .required();
  c.add_option("-o,--output", a->output, "The archive to write (default: the input's name with .tern)")
      .type_name("FILE");
  c.add_option("--compress", a->compress, "none, zstd or zstd:LEVEL (1 to 22); compressed weights cannot be mapped")
      .type_name("CODEC");
  c.add_option("--groups", a->groups,
               "Store the ranks of a group of the program in the archive, for tern run --group: tp=0,1/2,3")
      .type_name("NAME=RANKS[/RANKS...]");
  c.add_option("--annotate", a->annotations,
               "Annotate every node whose module path, ATen operator or op matches PATTERN (* ? []). May be repeated")
      .type_name("PATTERN KEY=VALUE");
  c.add_option(
       "--target", a->targets,
       "cpu: also store the weights packed for this machine's processor, so that loading packs nothing. xpu:spirv: "
       "store the kernels of OpenCL devices, compiled to SPIR-V. cuda:sm_90, cuda:ptx, rocm:gfx942 and others: store "
       "the kernels of GPUs, if NVRTC or hiprtc is installed. metal:msl: store the kernels' texts for Apple's GPUs. "
       "Separate several targets by commas; a wrong name lists the targets of its plugin")
      .delimiter(',')
      .type_name("TARGET,...");
  c.add_flag("--tune", a->tune,
             "With --target cpu: run the program on made-up inputs, try other algorithms for its products and "
             "convolutions, and store the faster ones for this processor and number of threads");
  require_range(c.add_option("--tune-seconds", a->tune_seconds, "Time limit for the search").capture_default_str(),
                bounds::kSeconds);
  c.add_option("--precision", a->precision,
               "bfloat16 or float16: store the weights that only matrix products read in this type. With bfloat16, "
               "products, convolutions and attention also multiply in it, on processors where that is faster. Sums "
               "and everything else keep their types")
      .type_name("TYPE");
  add_quantize_options(c, a->quantize);
  add_train_options(c, a->train);
  add_llm_options(c, a->llm);
  c.add_option(
       "--tokenizer", a->tokenizer,
       "Store a tokenizer in the archive: a folder of Hugging Face with tokenizer.json or tokenizer.model, whose "
       "tokenizer_config.json, chat_template.jinja and generation_config.json are stored too, or one file "
       "(docs/language_models.md)")
      .type_name("PATH");
  c.add_option("--keep", a->kept_patterns,
               "With --precision and --quantize: leave the nodes whose module path, ATen operator or op matches "
               "PATTERN (* ? []) as they are. May be repeated")
      .type_name("PATTERN");
  c.add_option("--size", a->sizes,
               "The value of a symbolic size that --target and --tune plan for (default: 32 or the nearest allowed "
               "for cpu, several typical ones for kernels). For kernels a name may be repeated: the first values of "
               "all names go together, then the second ones")
      .type_name("NAME=NUMBER");
  c.add_option("--name-size", a->size_names,
               "Name a symbolic size: s77=batch. PyTorch drops the names of Dim(); 'tern inspect model.pt2' lists the "
               "sizes. Messages and --size use the new name. May be repeated")
      .type_name("OLD=NEW");
  c.add_flag("--custom-ops", a->custom_ops, "Keep operators that Tern does not know; a library provides them");
  c.add_option(
       "--ignore-guard", a->ignored_guards,
       "Leave out a relation between sizes that the program assumes, as 'tern inspect model.pt2' lists it, or all that "
       "match a pattern (* ?). Tracing often assumes without need that sizes differ from 1: 'k != 1'. May be repeated")
      .type_name("RELATION");
  c.add_flag("--unchecked-guards", a->unchecked_guards,
             "Accept relations between sizes that the program assumes and Tern cannot check before a run");
  c.add_flag("--no-fold", a->no_fold, "Keep computations on constant weights, and batch norms, as they were traced");
  c.add_flag("--no-origins", a->no_origins, "Leave out module paths and Python lines");
  c.add_flag("--verify", a->verify, "Read the archive back and check every rule and hash");
  c.add_flag("--json", a->json, "Print what was written as JSON");
  c.footer(
      "Examples:\n  tern export model.pt2 -o model.tern --compress zstd:9\n"
      "  tern export model.pt2 --name-size s77=batch\n"
      "  tern export model.pt2 --precision bfloat16 --keep lm_head --keep 'layers.0.*'\n"
      "  tern export model.pt2 --quantize int4 --quantize int8:lm_head --keep 'layers.0.*'\n"
      "  tern export model.pt2 --quantize mxfp4,int4,int8 --calibrate samples/ --target-sqnr 30 --report error.svg\n"
      "  tern export decoder.pt2 --llm --token-ids generation_config.json --quantize int4\n"
      "  tern export model.gguf -o model.tern --context 8192\n"
      "  tern export decoder.pt2 --llm --tokenizer folder\n"
      "  tern export model.pt2 --annotate 'encoder.*' stage=1 --annotate softmax precision=high\n\n"
      "With --calibrate the program runs unquantized and quantized, and SQNR and cosine are those of 'tern verify': "
      "'own' "
      "of only a layer on the operands of the unquantized program, 'accumulated' of its value in the quantized "
      "program. "
      "All samples run in one session: mutable state carries over. "
      "--target-sqnr applies to the worst result over all samples.\n"
      "An error lists all operators that are not supported at once.\n\n"
      "Exit status: 1 if no weight can be quantized with --target-sqnr; then nothing is written.");
  c.callback([a, c, &line] {
    a->quantize.draws = c.count("--report") > 0;  // the value is optional
    line.status = run_export(*a);
  });
}

}  // namespace tern
