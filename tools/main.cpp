// tern: the command. Each subcommand is a file cmd_NAME.cpp of its own; command_line.cpp lists them.
#include "tools/command_line.h"

int main(int argc, char** argv) {
  return tern::run_command_line(argc, argv);
}
