#include "cli/completion.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "cli/commands/actions.h"
#include "cli/session/contexts.h"

namespace winnow::cli {
namespace {

constexpr char kStates[] = "pending running paused completed pruned cancelled failed";
constexpr char kRoles[] = "viewer submitter worker admin";

std::string Join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

std::string Names(const std::vector<CommandWords>& commands, bool CommandWords::*which,
                  std::string_view separator) {
  std::vector<std::string> names;
  for (const CommandWords& command : commands) {
    if (which == nullptr || command.*which) names.push_back(command.name);
  }
  return Join(names, separator);
}

// Returns `script` with each "@KEY@" replaced.
std::string Fill(std::string script, const std::vector<std::pair<std::string_view, std::string>>& values) {
  for (const auto& [key, value] : values) {
    for (size_t at = script.find(key); at != std::string::npos; at = script.find(key, at + value.size())) {
      script.replace(at, key.size(), value);
    }
  }
  return script;
}

constexpr char kBash[] =
    R"script(# Completion of winnow for bash. Use it with: source <(winnow completion bash)
_winnow() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command="" flags="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
    @ALL@) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  COMPREPLY=()
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "@NAMES@ --help --version" -- "$word"))
    return
  fi
  case $before in
  -o|--output) COMPREPLY=($(compgen -W "text json jsonl csv" -- "$word")); return ;;
  --state) COMPREPLY=($(compgen -W "@STATES@" -- "$word")); return ;;
  --role) COMPREPLY=($(compgen -W "@ROLES@" -- "$word")); return ;;
  --context) COMPREPLY=($(compgen -W "$(winnow __complete contexts 2>/dev/null)" -- "$word")); return ;;
  --sort) COMPREPLY=($(compgen -W "$(winnow __complete columns "${COMP_WORDS[i+1]}" 2>/dev/null)" -- "$word")); return ;;
  esac
  case $command in
@FLAGS@  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
    return
  fi
  case $command in
  @JOB@)
    if ((COMP_CWORD == i + 1)); then
      COMPREPLY=($(compgen -W "latest $(winnow __complete jobs 2>/dev/null)" -- "$word"))
    fi
    ;;
  @FILE@) COMPREPLY=($(compgen -f -- "$word")) ;;
  completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")) ;;
@WORDS@  esac
}
complete -o filenames -F _winnow winnow
)script";

constexpr char kZsh[] = R"script(#compdef winnow
# Completion of winnow for zsh. Use it with: source <(winnow completion zsh)
_winnow() {
  local -a commands flags jobs
  commands=(
@DESCRIBED@  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  case $words[CURRENT-1] in
  -o|--output) compadd text json jsonl csv; return ;;
  --state) compadd @STATES@; return ;;
  --role) compadd @ROLES@; return ;;
  --context) compadd -- ${(f)"$(winnow __complete contexts 2>/dev/null)"}; return ;;
  --sort) compadd -- ${(f)"$(winnow __complete columns "$words[3]" 2>/dev/null)"}; return ;;
  esac
  case $words[2] in
@FLAGS@  esac
  if [[ $PREFIX == -* ]]; then
    compadd -- $flags
    return
  fi
  case $words[2] in
  @JOB@)
    if ((CURRENT == 3)); then
      jobs=(latest ${(f)"$(winnow __complete jobs 2>/dev/null)"})
      compadd -- $jobs
    fi
    ;;
  @FILE@) _files ;;
  completion) compadd bash zsh fish ;;
@WORDS@  esac
}
compdef _winnow winnow
)script";

// One rule per line: each command's name, its flags and its arguments.
constexpr char kFishHead[] =
    R"script(# Completion of winnow for fish. Use it with: winnow completion fish | source
complete -c winnow -f
)script";

// Quotes with fish's single quotes.
std::string FishQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return quoted + "'";
}

std::string FishScript(const std::vector<CommandWords>& commands) {
  const std::map<std::string, std::string> values = {
      {"--output", "text json jsonl csv"},
      {"--state", kStates},
      {"--role", kRoles},
      {"--context", "(winnow __complete contexts 2>/dev/null)"},
      {"--sort", "(winnow __complete columns (commandline -opc)[3] 2>/dev/null)"}};
  std::string script = kFishHead;
  for (const CommandWords& command : commands) {
    script += fmt::format("complete -c winnow -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          FishQuoted(command.help));
    const std::string seen = fmt::format("'__fish_seen_subcommand_from {}'", command.name);
    const auto rule = [&](const std::string& rest) {
      script += fmt::format("complete -c winnow -n {} {}\n", seen, rest);
    };
    for (const std::string& flag : command.flags) {
      const auto words = values.find(flag);
      rule("-l " + flag.substr(2) + (words == values.end() ? "" : " -x -a " + FishQuoted(words->second)));
    }
    if (command.takes_job) rule("-a 'latest (winnow __complete jobs 2>/dev/null)'");
    if (command.takes_file) rule("-F");
    if (!command.words.empty()) rule("-a " + FishQuoted(Join(command.words, " ")));
    if (command.name == "completion") rule("-a 'bash zsh fish'");
  }
  return script;
}

}  // namespace

std::string CompletionScript(std::string_view shell, const std::vector<CommandWords>& commands) {
  if (shell == "fish") return FishScript(commands);
  const bool bash = shell == "bash";
  std::string flags;
  std::string described;
  std::string words;
  for (const CommandWords& command : commands) {
    flags += bash ? fmt::format("  {}) flags=\"{}\" ;;\n", command.name, Join(command.flags, " "))
                  : fmt::format("  {}) flags=({}) ;;\n", command.name, Join(command.flags, " "));
    const std::string below = Join(command.words, " ");
    if (!below.empty()) {
      words +=
          bash ? fmt::format("  {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")) ;;\n", command.name, below)
               : fmt::format("  {}) compadd {} ;;\n", command.name, below);
    }
    std::string help;
    for (const char c : command.help) help += c == '\'' ? "'\\''" : c == ':' ? "\\:" : std::string(1, c);
    described += fmt::format("    '{}:{}'\n", command.name, help);
  }
  return Fill(bash ? kBash : kZsh, {{"@STATES@", kStates},
                                    {"@ROLES@", kRoles},
                                    {"@ALL@", Names(commands, nullptr, "|")},
                                    {"@NAMES@", Names(commands, nullptr, " ")},
                                    {"@FLAGS@", flags},
                                    {"@WORDS@", words},
                                    {"@DESCRIBED@", described},
                                    {"@JOB@", Names(commands, &CommandWords::takes_job, "|")},
                                    {"@FILE@", Names(commands, &CommandWords::takes_file, "|")}});
}

Exit CompleteJobs(Session& session) {
  const auto list = session.client().List(100);
  if (!list.ok()) return list.status();
  for (const auto& job : list->jobs()) session.out.Print(job.id() + "\n");
  return kSuccess;
}

Exit CompleteContexts(Session& session) {
  const auto contexts = Contexts::Load(Contexts::DefaultPath());
  if (!contexts.ok()) return contexts.status();
  for (const auto& [name, context] : contexts->all) session.out.Print(name + "\n");
  return kSuccess;
}

Exit CompleteColumns(Session& session, const std::string& name) {
  const auto job = session.client().Describe(name.empty() ? "latest" : name);
  for (const std::string& column : SortColumns(job.ok() ? job->spec() : v1::TuningJobSpec())) {
    session.out.Print(column + "\n");
  }
  return kSuccess;
}

}  // namespace winnow::cli
