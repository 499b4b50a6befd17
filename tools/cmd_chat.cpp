// tern chat: a conversation with a language model on a terminal or through a pipe.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text_engine.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "platform/console.h"
#include "platform/signals.h"
#include "tools/command.h"
#include "tools/generation/conversation.h"
#include "tools/generation/options.h"
#include "tools/generation/shown_text.h"
#include "tools/output.h"
#include "tools/terminal.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{8} << 20;
constexpr std::chrono::milliseconds kAnswerPoll(50);  // for Ctrl-C

struct ChatArguments {
  EngineArguments engine;
  SamplingArguments sampling;
  std::string system;
};

constexpr std::string_view kChatHelp =
    "  /reset    forget all messages but the system's\n"
    "  /exit     end, as Ctrl-D does\n"
    "  /help     this list\n"
    "A line that ends with \\ continues on the next line. Ctrl-C stops an answer.\n";

/// Lines of standard input.
class Lines {
 public:
  enum class LineStatus { line, end, interrupted };

  LineStatus next(std::string& line) {
    while (true) {
      if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return LineStatus::line;
      }
      if (!platform::wait_for_input()) return LineStatus::interrupted;
      char buffer[4096];
      const std::int64_t n = platform::read_input(std::as_writable_bytes(std::span(buffer)));
      if (n < 0) fail(ErrorCode::io, "cannot read standard input");
      if (n == 0 && buffer_.empty()) return LineStatus::end;
      buffer_.append(buffer, static_cast<std::size_t>(n));
      if (n == 0) buffer_ += '\n';  // the last line may lack its end
      if (buffer_.size() > kMaxLineBytes)
        fail(ErrorCode::invalid_argument, fmt::format("a line has more than {} bytes", kMaxLineBytes));
    }
  }

 private:
  std::string buffer_;
};

class Chat {
 public:
  Chat(const ChatArguments& a, const Model& model)
      : engine_(make_engine(model, a.engine)),
        request_(make_request(*engine_, a.sampling)),
        conversation_(*engine_, required_template(model, a.engine), a.system),
        is_shown_(is_terminal(0) && is_terminal(1)) {}

  int run() {
    if (is_shown_) print_output("Ctrl-D or /exit ends the conversation; /help lists commands.\n");
    std::string message;
    while (true) {
      const Lines::LineStatus status = read_message(message);
      if (status == Lines::LineStatus::end) return end_line(0);
      if (status == Lines::LineStatus::interrupted) return end_line(kExitInterrupted);
      if (message.starts_with('/') && message.find('\n') == std::string::npos) {
        if (!obey(message)) return 0;
      } else if (message.find_first_not_of(" \t\n") != std::string::npos) {
        answer(message);
      }
    }
  }

 private:
  static ChatTemplate required_template(const Model& model, const EngineArguments& a) {
    std::optional<ChatTemplate> chat = find_chat_template(model, a);
    if (!chat) {
      fail(ErrorCode::invalid_argument,
           "the archive has no chat template; give one with --chat-template, or continue texts by 'tern generate'");
    }
    return std::move(*chat);
  }

  int end_line(int status) const {
    if (is_shown_) print_output("\n");
    return status;
  }

  Lines::LineStatus read_message(std::string& message) {
    message.clear();
    std::string line;
    do {
      if (is_shown_) show_answer(message.empty() ? "> " : "  ");
      const Lines::LineStatus status = lines_.next(line);
      if (status != Lines::LineStatus::line)
        return status == Lines::LineStatus::end && !message.empty() ? Lines::LineStatus::line : status;
      const bool continues = line.ends_with('\\');
      message += (message.empty() ? "" : "\n") + line.substr(0, line.size() - (continues ? 1 : 0));
      if (!continues) return Lines::LineStatus::line;
    } while (true);
  }

  /// False for the end of the conversation.
  bool obey(const std::string& command) {
    if (command == "/exit" || command == "/quit") return false;
    if (command == "/reset") {
      conversation_.reset();
    } else if (command == "/help") {
      print_output(kChatHelp);
    } else {
      print_problem(fmt::format("tern: there is no command {}; /help lists the commands\n", escape_name(command)));
    }
    return true;
  }

  void answer(const std::string& message) {
    try {
      answer_or_throw(message);
    } catch (const Error& e) {
      // Wrong messages of a conversation leave it as it was; a script must notice them.
      if (!is_shown_ || e.code() != ErrorCode::invalid_argument) throw;
      print_problem(fmt::format("tern: {}\n", escape_message(e.what())));
    }
  }

  void answer_or_throw(const std::string& message) {
    const std::size_t dropped = conversation_.dropped();
    TextRequest request = request_;
    request.prompt = conversation_.ask(message);
    if (conversation_.dropped() > dropped)
      print_problem("tern: the model's context is full; the oldest messages are dropped\n");
    const int interrupts = interrupts_.count();
    TextAnswer answer = engine_->submit(std::move(request));
    std::string text;
    TextPiece piece;
    while (true) {
      const TextAnswer::Next next = answer.next(piece, kAnswerPoll);
      if (interrupts_.count() > interrupts) answer.cancel();
      if (next == TextAnswer::Next::end) break;
      if (next == TextAnswer::Next::timeout) continue;
      show_answer(piece.text);
      text += piece.text;
    }
    print_output("\n");
    if (answer.end().finish == TextFinish::failed) fail(ErrorCode::runtime, answer.end().problem);
    conversation_.add_answer(text);
  }

  std::unique_ptr<TextEngine> engine_;
  const TextRequest request_;  ///< each message's request, without its prompt
  Conversation conversation_;
  bool is_shown_;
  Lines lines_;
  platform::InterruptCount interrupts_;
};

}  // namespace

void add_chat_command(Command app, CommandLine& line) {
  auto a = std::make_shared<ChatArguments>();
  const Command c = app.add_subcommand("chat", "Hold a conversation with a language model");
  add_engine_options(c, a->engine);
  add_chat_options(c, a->engine);
  c.add_option("--system", a->system, "The system's message, before the conversation").type_name("TEXT");
  add_sampling_options(c, a->sampling);
  c.footer(
      "Examples:\n  tern chat llm.tern --system \"Answer in one sentence.\"\n"
      "  printf 'Where do terns nest?\\nAnd in winter?\\n' | tern chat llm.tern\n\n"
      "Each line is a message; /help lists the commands of a conversation. Ctrl-C stops an answer, and between answers "
      "it ends the command with status 130. docs/serve.md describes chat templates.");
  c.callback([a, &line] { line.status = Chat(*a, Model::open(a->engine.model)).run(); });
}

}  // namespace tern
