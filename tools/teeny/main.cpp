// teeny: the command line.
#include <cstdio>

#include <teeny/error.hpp>

#include "commands.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Tile kernels on any device."};
  app.require_subcommand(1);
  teeny::command::Action action;
  teeny::command::add_devices(app, action);
  teeny::command::add_run(app, action);
  teeny::command::add_bench(app, action);
  teeny::command::add_check(app, action);
  teeny::command::add_explain(app, action);
  CLI11_PARSE(app, argc, argv);
  try {
    return action();
  } catch (const teeny::Error& error) {
    std::fprintf(stderr, "teeny: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "teeny: %s\n", error.what());
  }
  return 1;
}
