#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/standard_streams.h"
#include "trainers/common/contract.h"
#include "trainers/common/fork_server.h"
#include "trainers/common/program.h"
#include "trainers/common/train_flags.h"

namespace winnow {

// A built-in trainer, from its arguments to its exit code: serves forks, trains under the trainer contract or
// by flags, or runs a command on a model. `Trainer` has what differs, all static:
//   name, version, description   texts
//   Flags                        with TrainFlags as its member `common`
//   ModelCommands                as in trainers/gbdt/model_commands.h
//   AddTrainFlags(CLI::App*, Flags*)
//   RequestFromFlags(const Flags&, warnings), RequestFromEnvironment(EnvironmentReader, warnings)
//   Prepare()                    what a parent does before it forks
//   RunTraining                  as TrainerMain::Train takes it
template <typename Trainer>
int TrainOrServe(int argc, char** argv) {
  if (const std::optional<int> end = ServeForks(Trainer::Prepare)) return *end;
  const TrainerMain process(Trainer::name);
  std::vector<std::string> warnings;
  if (!IsStartedByHand(argc, argv, Trainer::ModelCommands::IsName)) {
    return process.Train(Trainer::RequestFromEnvironment(OwnEnvironmentValue, &warnings), warnings,
                         Trainer::RunTraining);
  }
  CLI::App app(Trainer::description, Trainer::name);
  app.set_version_flag("--version", Trainer::version);
  typename Trainer::Flags flags;
  Trainer::AddTrainFlags(&app, &flags);
  typename Trainer::ModelCommands model_commands(&app);
  if (const std::optional<int> end = EndOfParsing(&app, argc, argv, process)) return *end;
  if (model_commands.asked()) {
    const absl::Status status = model_commands.Run();
    return status.ok() ? 0 : process.Fail(status);
  }
  if (const std::string problem = flags.common.Settle(); !problem.empty()) return process.Usage(problem);
  return process.Train(Trainer::RequestFromFlags(flags, &warnings), warnings, Trainer::RunTraining);
}

// What main() of a built-in trainer returns.
template <typename Trainer>
int TrainerProgram(int argc, char** argv) {
  OpenStandardStreams();
  try {
    return TrainOrServe<Trainer>(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", Trainer::name);
    return 1;
  }
}

}  // namespace winnow
