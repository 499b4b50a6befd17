// tern pages: manual pages and completion, for the installation (cmake/TernInstall.cmake), and docs/command.md. Not
// listed by --help.
#include <fmt/format.h>
#include <tern/error.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "loader/atomic_file.h"
#include "tools/command.h"
#include "tools/option_text.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  AtomicFile file(path.string());
  file.write(text);
  file.commit();
}

/// Writes the pages to the folders below share/ of an installation.
void write_pages(const CLI::App& app, const std::filesystem::path& folder) {
  write(folder / "man/man1/tern.1", man_page(app));
  for (const CLI::App* c : commands_of(app)) write(folder / ("man/man1/tern-" + c->get_name() + ".1"), man_page(*c));
  write(folder / "bash-completion/completions/tern", bash_completion(app));
  write(folder / "zsh/site-functions/_tern", zsh_completion(app));
  write(folder / "fish/vendor_completions.d/tern.fish", fish_completion(app));
}

}  // namespace

void add_pages_command(Command app, CommandLine&) {
  auto folder = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  const Command c = app.add_subcommand("pages", "Write the manual pages and completion of the command");
  c.hide();
  c.add_option("folder", *folder, "The folder to write to: share/ of an installation");
  c.add_flag("--markdown", *markdown, "Print docs/command.md instead");
  c.footer("Example:\n  tern pages build/share");
  c.callback([folder, markdown, app] {
    if (*markdown == !folder->empty()) fail(ErrorCode::invalid_argument, "tern pages takes a folder or --markdown");
    *markdown ? fmt::print("{}", markdown_page(app.app())) : write_pages(app.app(), *folder);
  });
}

}  // namespace tern
