#include "cli/commands.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/output/text.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

// Returns the heading of the command in the help text.
std::string GroupOf(const std::string& command) {
  static const std::map<std::string, std::vector<std::string>> kGroups = {
      {"Jobs", {"plan", "simulate", "submit", "list", "describe", "watch", "stop", "delete"}},
      {"Results", {"trials", "best", "analytics", "metrics", "compare", "logs", "replay"}},
      {"Ask and tell", {"ask", "tell", "complete"}},
      {"Workers", {"workers", "cordon", "drain", "uncordon"}}};
  for (const auto& [group, commands] : kGroups) {
    if (std::find(commands.begin(), commands.end(), command) != commands.end()) return group;
  }
  return "Server and tokens";
}

}  // namespace

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
  command->group(GroupOf(name));
  command->fallthrough();
  if (formats != Formats::kNone) {
    std::vector<std::string> words = {"text", "json"};
    if (formats != Formats::kTextJson) words.push_back("jsonl");
    if (formats == Formats::kTable) words.push_back("csv");
    std::string choice = OneOf(words);
    choice.insert(words.front().size(), " (default)");
    formats_[name] = WordOf(words);
    command->add_option("-o,--output", flags_.output, choice)
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
  Add("completion", "Print a shell's completion script: source <(winnow completion bash)", Formats::kNone,
      [this](Session& session) -> Exit {
        session.out.Print(CompletionScript(flags_.shell, words()));
        return kSuccess;
      })
      ->add_option("SHELL", flags_.shell, "bash, zsh or fish")
      ->required()
      ->check(WordOf({"bash", "zsh", "fish"}))
      ->option_text(" ");
  CLI::App* complete = Add("__complete", "", Formats::kNone, [this](Session& session) {
    return flags_.shell == "jobs" ? CompleteJobs(session) : CompleteColumns(session, flags_.job);
  });
  complete->group("");
  complete->add_option("WHAT", flags_.shell)->required()->check(WordOf({"jobs", "columns"}));
  complete->add_option("JOB", flags_.job);
}

}  // namespace winnow::cli
