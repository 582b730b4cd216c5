#include "cli/commands.h"

#include <utility>

#include "cli/validators.h"

namespace winnow::cli {

Commands::Commands(CLI::App& app, Flags& flags) : app_(app), flags_(flags) {
  DefineJobs();
  DefineSearch();
  DefineAsks();
  DefineBackup();
  DefineTokens();
  DefineCompletion();
}

std::string Commands::TakeOutput(std::string output) const {
  const CLI::App* command = app_.get_subcommands().front();
  const auto formats = formats_.find(command->get_name());
  if (formats == formats_.end()) return command->get_name() + " takes no --output";
  const std::string wrong = formats->second(output);
  if (!wrong.empty()) return "--output: " + wrong;
  if (command->get_option("--output")->count() == 0) flags_.output = output;
  return "";
}

std::vector<CommandWords> Commands::words() const {
  std::vector<CommandWords> words;
  for (const CLI::App* command : app_.get_subcommands(nullptr)) {
    if (command->get_group().empty()) continue;
    CommandWords entry;
    entry.name = command->get_name();
    entry.help = command->get_description();
    for (const CLI::App* owner : {command, static_cast<const CLI::App*>(&app_)}) {
      for (const CLI::Option* option : owner->get_options()) {
        if (option->get_positional()) {
          entry.takes_job = entry.takes_job || option->get_name(true) == "JOB";
          entry.takes_file = entry.takes_file || option->get_name(true) == "FILE";
        } else if (option->get_name() != "--version" && !option->get_group().empty()) {
          for (const std::string& name : option->get_lnames()) entry.flags.push_back("--" + name);
        }
      }
    }
    words.push_back(std::move(entry));
  }
  return words;
}

CLI::App* Commands::Add(const std::string& name, const std::string& help, Formats formats, Run run) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->fallthrough();
  if (formats != Formats::kNone) {
    const bool csv = formats == Formats::kTextJsonCsv;
    formats_[name] = csv ? WordOf({"text", "json", "csv"}) : WordOf({"text", "json"});
    command
        ->add_option("-o,--output", flags_.output,
                     csv ? "text (default), json or csv" : "text (default) or json")
        ->check(formats_[name])
        ->option_text("FORMAT");
  }
  runs_[name] = std::move(run);
  return command;
}

void Commands::Job(CLI::App* command, std::string* job) {
  command->add_option("JOB", *job, "job id, or latest")->required()->check(JobName())->option_text(" ");
}

CLI::Option* Commands::Trial(CLI::App* command, int64_t* trial) {
  return command->add_option("TRIAL", *trial, "trial number")->check(Whole(1, INT64_MAX))->option_text(" ");
}

void Commands::File(CLI::App* command, std::string* file, std::string* name) {
  command->add_option("FILE", *file, "job file (JSON); - reads standard input")
      ->required()
      ->check(NotEmpty(4096))
      ->option_text(" ");
  command->add_option("--name", *name, "name of the job, instead of the file's")
      ->check(NotEmpty(63))
      ->option_text("NAME");
}

void Commands::DefineCompletion() {
  Add("completion", "Print a completion script: source <(winnow completion bash)", Formats::kNone,
      [this](Session& session) -> Exit {
        session.out.Print(CompletionScript(flags_.shell, words()));
        return kSuccess;
      })
      ->add_option("SHELL", flags_.shell, "bash or zsh")
      ->required()
      ->check(WordOf({"bash", "zsh"}))
      ->option_text(" ");
  Add("__complete", "", Formats::kNone, [](Session& session) { return CompleteJobs(session); })
      ->group("")
      ->add_option("WHAT", flags_.shell)
      ->required()
      ->check(WordOf({"jobs"}));
}

}  // namespace winnow::cli
