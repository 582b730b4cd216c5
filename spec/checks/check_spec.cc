#include "spec/checks/check_spec.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/names.h"
#include "spec/annotation.h"
#include "spec/builtin_trainers.h"
#include "spec/checks/channels.h"
#include "spec/checks/cluster.h"
#include "spec/checks/container.h"
#include "spec/checks/hyperparameters.h"
#include "spec/checks/search.h"
#include "spec/checks/size.h"
#include "spec/checks/source.h"
#include "spec/checks/suspend.h"
#include "spec/checks/texts.h"
#include "spec/hidden_value.h"
#include "spec/placeholders.h"
#include "spec/values.h"
#include "spec/violations.h"

namespace winnow {
namespace {

constexpr int64_t kMostSeconds = 10LL * 365 * 24 * 3600;  // of any duration
constexpr int64_t kMostOffset = 1'000'000'000;
constexpr int64_t kLongestLease = 86400;  // seconds
constexpr int kMostSecrets = 100;
constexpr int64_t kMostExpressionMemory = 1 << 20;  // of one, compiled

bool IsName(const std::string& name, size_t most, const std::string& punctuation) {
  if (name.empty() || name.size() > most || !std::isalnum(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [&punctuation](unsigned char c) {
    return std::isalnum(c) || punctuation.find(static_cast<char>(c)) != std::string::npos;
  });
}

class SpecChecker {
 public:
  explicit SpecChecker(const v1::TuningJobSpec& spec)
      : spec_(spec), trainer_(spec.trainer()), builtin_(FindBuiltinTrainer(trainer_.builtin())) {}

  std::vector<Violation> Run() {
    if (!IsName(spec_.name(), 63, "-_.")) {
      Add("name", spec_.name().empty()
                      ? "is missing; expected a name of at most 63 letters, digits, '-', '_', '.'"
                      : "is " + Quoted(spec_.name()) +
                            "; expected at most 63 letters, digits, '-', '_', '.', a letter or "
                            "digit first");
    }
    if (spec_.name() == "latest") Add("name", "\"latest\" means the newest job; expected another name");
    if (!spec_.working_directory().empty() && spec_.working_directory()[0] != '/') {
      Add("working_directory", "is " + Quoted(spec_.working_directory()) + "; expected an absolute path");
    }
    AddAll(CheckAnnotation(spec_.tags(), spec_.note()));
    Trainer();
    AddAll(CheckSource(spec_));
    AddAll(CheckSuspend(spec_));
    AddAll(CheckContainer(spec_));
    AddAll(CheckChannels(spec_));
    Channels();
    AddAll(CheckHyperparameters(spec_));
    Enums();
    Objective();
    Limits();
    AddAll(CheckCluster(spec_));
    AddUnrelated(CheckSearch(spec_), &violations_);
    AddAll(CheckTexts(spec_));
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }
  void AddAll(const std::vector<Violation>& more) {
    violations_.insert(violations_.end(), more.begin(), more.end());
  }

  void Trainer() {
    const bool has_builtin = !trainer_.builtin().empty(), has_command = trainer_.command_size() > 0;
    std::vector<std::string> kinds;
    if (has_builtin) kinds.push_back("builtin");
    if (has_command) kinds.push_back("command");
    if (trainer_.external()) kinds.push_back("external");
    if (kinds.empty()) Add("trainer", "names no program; expected builtin, command or external");
    if (kinds.size() > 1) {
      Add("trainer", fmt::format("has {}; expected exactly one of them", fmt::join(kinds, " and ")));
    } else if (trainer_.external()) {
      External();
    }
    if (trainer_.has_lease()) Lease();
    if (has_builtin && builtin_ == nullptr) {
      std::vector<std::string> names;
      for (const BuiltinTrainer& known : BuiltinTrainers()) names.push_back(known.name);
      Add("trainer.builtin", "is " + Quoted(trainer_.builtin()) + "; expected one of " + Joined(names));
    }
    if (has_builtin) {
      const std::string why = "is given; expected none, since a built-in trainer's output is known";
      if (trainer_.metrics_size() > 0) Add("trainer.metrics", why);
      if (!trainer_.resource_regex().empty()) Add("trainer.resource_regex", why);
      if (trainer_.resource_offset() != 0) Add("trainer.resource_offset", why);
    }
    if (has_command) Command();
    for (int i = 0; i < trainer_.metrics_size(); ++i) {
      const v1::MetricDefinition& metric = trainer_.metrics(i);
      const std::string at = fmt::format("trainer.metrics[{}]", i);
      if (metric.name().empty()) Add(at + ".name", "is missing; expected the metric's name");
      const bool named = !metric.name().empty() && !IsLongMetric(at + ".name", metric.name());
      for (int j = 0; j < i; ++j) {
        if (!named || trainer_.metrics(j).name() != metric.name()) continue;
        Add(at + ".name", Quoted(metric.name()) + " is defined twice; expected every metric once");
        break;
      }
      if (!metric.regex().empty()) Expression(at + ".regex", metric.regex(), "the metric's value");
    }
    if (!trainer_.resource_regex().empty()) {
      Expression("trainer.resource_regex", trainer_.resource_regex(), "the resource level");
    }
    if (trainer_.resource_offset() < -kMostOffset || trainer_.resource_offset() > kMostOffset) {
      Add("trainer.resource_offset",
          fmt::format("is {}; expected -{} to {}", trainer_.resource_offset(), kMostOffset, kMostOffset));
    }
    if (trainer_.has_grace_period()) DurationOf("trainer.grace_period", trainer_.grace_period(), 3600);
    Environment();
    Secrets();
  }

  // Clients train, so nothing is started or read.
  void External() {
    const std::string why = "is given; expected none with an external trainer, ";
    const std::string no_output = why + "whose clients report metrics by themselves";
    if (trainer_.metrics_size() > 0) Add("trainer.metrics", no_output);
    if (!trainer_.resource_regex().empty()) Add("trainer.resource_regex", no_output);
    if (trainer_.resource_offset() != 0) Add("trainer.resource_offset", no_output);
    const std::string no_process = why + "of which no process is started here";
    if (!trainer_.environment().empty()) Add("trainer.environment", no_process);
    if (!trainer_.secrets().empty()) Add("trainer.secrets", no_process);
    if (trainer_.has_grace_period()) Add("trainer.grace_period", no_process);
    if (trainer_.warm() != v1::TrainerSpec::WARM_UNSPECIFIED) Add("trainer.warm", no_process);
    if (!spec_.channels().empty()) Add("channels", no_process);
    if (spec_.has_cluster()) Add("cluster", no_process);
  }

  void Lease() {
    if (!trainer_.external()) {
      return Add("trainer.lease", "is given; expected it with an external trainer only");
    }
    DurationOf("trainer.lease", trainer_.lease(), kLongestLease);
    if (trainer_.lease().seconds() == 0)
      Add("trainer.lease", "is shorter than a second; expected 1s to 86400s");
  }

  void Command() {
    if (trainer_.command(0).empty()) Add("trainer.command[0]", "is empty; expected a program");
    if (trainer_.metrics_size() == 0) {
      Add("trainer.metrics", "is missing; expected at least one metric with a command, to read its output");
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : spec_.static_hyperparameters()) names.push_back(name);
    for (const v1::ParameterSpec& parameter : spec_.parameters()) names.push_back(parameter.name());
    std::sort(names.begin(), names.end());
    for (int i = 0; i < trainer_.command_size(); ++i) {
      const std::string at = fmt::format("trainer.command[{}]", i);
      const std::vector<std::string> used = Placeholders(trainer_.command(i));
      for (const std::string& name : used) {
        if (!std::binary_search(names.begin(), names.end(), name)) {
          Add(at, "{{" + name + "}} is not a hyperparameter of this job" + DidYouMean(name, names));
        } else if (IsConditional(name) && (i == 0 || used.size() > 1)) {
          Add(at, "{{" + name +
                      "}} is a conditional hyperparameter, and its argument is left out where it does not " +
                      "exist; expected an argument of its own");
        }
      }
    }
  }

  bool IsConditional(const std::string& name) const {
    return std::any_of(spec_.parameters().begin(), spec_.parameters().end(),
                       [&name](const auto& p) { return p.name() == name && p.has_condition(); });
  }

  void Expression(const std::string& at, const std::string& text, const char* of) {
    if (text.empty())
      return Add(at, std::string("is missing; expected an RE2 expression with one group for ") + of);
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kMostExpressionMemory);
    const RE2 expression(text, options);
    if (!expression.ok()) {
      return Add(at, Quoted(text) + " is not a valid RE2 expression: " + expression.error());
    }
    if (expression.NumberOfCapturingGroups() == 1) return;
    Add(at, fmt::format(
                "\"{}\" has {} groups; expected exactly one, for {} (a group that does not count is (?:…))",
                text, expression.NumberOfCapturingGroups(), of));
  }

  void Variable(const std::string& at, const std::string& name, const std::set<std::string>& settings) {
    static const std::set<std::string> reserved = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR",
                                                   "MASTER_PORT"};
    const bool legal = RE2::FullMatch(name, "[A-Za-z_][A-Za-z0-9_]*");
    if (!legal) Add(at, "is not a variable's name; expected letters, digits and '_', no digit first");
    const bool ours = name.rfind("SM_", 0) == 0 || name.rfind("WINNOW_", 0) == 0;
    if (reserved.count(name) == 0 && (!ours || settings.count(name) > 0)) return;
    Add(at, "is set by Winnow itself; expected a name that does not begin with SM_ or WINNOW_, nor one of " +
                Joined({reserved.begin(), reserved.end()}));
  }

  void Environment() {
    const std::map<std::string, std::string> sorted(trainer_.environment().begin(),
                                                    trainer_.environment().end());
    for (const auto& [name, value] : sorted) {
      const std::string at = "trainer.environment." + name;
      Variable(at, name, {"WINNOW_RENDEZVOUS_SECONDS", "WINNOW_RANK_PATIENCE_SECONDS"});
      // As in a spec read from somebody else's job: the program would train with the mark as its value.
      if (value == kHiddenValue) {
        Add(at, "is " + Quoted(value) +
                    ", which stands for a value that only the job's owner sees; expected its value");
      }
    }
  }

  // Variables whose values are files of the workers.
  void Secrets() {
    const std::map<std::string, std::string> sorted(trainer_.secrets().begin(), trainer_.secrets().end());
    if (static_cast<int>(sorted.size()) > kMostSecrets) {
      return Add("trainer.secrets",
                 fmt::format("has {} secrets; expected at most {}", sorted.size(), kMostSecrets));
    }
    for (const auto& [variable, secret] : sorted) {
      const std::string at = "trainer.secrets." + variable;
      Variable(at, variable, {});
      if (trainer_.environment().count(variable) > 0) {
        Add(at, "is in trainer.environment too; expected the variable in one of the two");
      }
      if (!IsName(secret, 64, "-_.")) {
        Add(at, "names the secret " + Quoted(secret) +
                    "; expected at most 64 letters, digits, '-', '_', '.', a letter or digit first");
      }
    }
  }

  void Channels() {
    const std::map<std::string, v1::Channel> sorted(spec_.channels().begin(), spec_.channels().end());
    std::map<std::string, std::string> variables;
    for (const auto& [name, channel] : sorted) {
      const std::string at = "channels." + name;
      if (!IsName(name, 64, "-_")) {
        Add(at, Quoted(name) +
                    " is not a channel's name; expected at most 64 letters, digits, '-', '_', no sign first");
      }
      std::string variable;
      for (unsigned char c : name) variable += std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
      if (const auto [other, first] = variables.emplace(variable, name); !first) {
        Add(at, "has the variable SM_CHANNEL_" + variable + ", as channel " + other->second +
                    " has; expected names that differ in more");
      }
      Reading(at, name, channel);
    }
    if (builtin_ == nullptr) return;
    if (sorted.count("train") == 0) Add("channels.train", "is missing; expected the data to train on");
    for (const auto& [name, channel] : sorted) {
      if (name == "train" || name == "validation") continue;
      Add("channels." + name, "is not a channel of " + builtin_->name + "; expected train, validation");
    }
  }

  void OneOf(const std::string& at, const std::string& value, const std::vector<std::string>& choices) {
    if (value.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
    Add(at, "is " + Quoted(value) + "; expected one of " + Joined(choices));
  }

  void Reading(const std::string& at, const std::string& name, const v1::Channel& channel) {
    std::vector<std::string> formats = {"auto", "csv", "libsvm"};
    if (builtin_ != nullptr && builtin_->name == "mlp") formats.emplace_back("idx");
    OneOf(at + ".format", channel.format(), formats);
    OneOf(at + ".header", channel.header(), {"auto", "yes", "no"});
    OneOf(at + ".separator", channel.separator(), {"auto", ",", ";", "|", "tab", "blank"});
    OneOf(at + ".distribution", channel.distribution(), {"replicated", "sharded"});
    if (channel.max_levels() < 0) {
      Add(at + ".max_levels",
          fmt::format("is {}; expected at least 1, or 0 for the default", channel.max_levels()));
    }
    const double fraction = channel.validation_fraction();
    if (!(fraction >= 0 && fraction < 1)) {
      Add(at + ".validation_fraction", fmt::format("is {}; expected at least 0 and less than 1", fraction));
    } else if (fraction > 0 && name != "train") {
      Add(at + ".validation_fraction", fmt::format("is {}; expected it in channel train only", fraction));
    } else if (fraction > 0 && spec_.channels().count("validation") > 0) {
      Add(at + ".validation_fraction",
          fmt::format("is {}, but there is a channel validation; expected one of the two", fraction));
    }
  }

  // Numbers that no name stands for; a job file cannot hold them, a request can.
  void Enums() {
    for (int i = 0; i < spec_.parameters_size(); ++i) {
      const v1::ParameterSpec& parameter = spec_.parameters(i);
      const auto scaling =
          parameter.has_continuous() ? parameter.continuous().scaling() : parameter.integer().scaling();
      if (v1::Scaling_IsValid(scaling)) continue;
      Add(fmt::format("parameters[{}].{}.scaling", i, parameter.has_continuous() ? "continuous" : "integer"),
          fmt::format("is {}; expected LINEAR, LOG, REVERSE_LOG", static_cast<int>(scaling)));
    }
  }

  void GoalOf(const std::string& at, v1::Goal goal) {
    if (goal == v1::MAXIMIZE || goal == v1::MINIMIZE) return;
    Add(at, (goal == v1::GOAL_UNSPECIFIED ? std::string("is missing")
                                          : fmt::format("is {}", static_cast<int>(goal))) +
                "; expected MAXIMIZE or MINIMIZE");
  }

  void Objective() {
    if (spec_.objectives_size() > 0) {
      if (spec_.has_objective()) Add("objective", "is given beside objectives; expected one of the two");
      for (int i = 0; i < spec_.objectives_size(); ++i) {
        const std::string at = fmt::format("objectives[{}]", i);
        GoalOf(at + ".goal", spec_.objectives(i).goal());
        PrintedMetric(at + ".metric", spec_.objectives(i).metric());
      }
    } else {
      const v1::ObjectiveSpec& objective = spec_.objective();
      GoalOf("objective.goal", objective.goal());
      if (!v1::ObjectiveSpec::Value_IsValid(objective.value()))
        Add("objective.value",
            fmt::format("is {}; expected BEST, LAST or MEAN", static_cast<int>(objective.value())));
      if (!v1::ObjectiveSpec::Selection_IsValid(objective.selection()))
        Add("objective.selection",
            fmt::format("is {}; expected SEEN or EXPECTED", static_cast<int>(objective.selection())));
      PrintedMetric("objective.metric", objective.metric());
    }
    for (int i = 0; i < spec_.metric_constraints_size(); ++i) {
      PrintedMetric(fmt::format("metric_constraints[{}].metric", i), spec_.metric_constraints(i).metric());
    }
  }

  bool IsLongMetric(const std::string& at, const std::string& metric) {
    if (metric.size() <= kMostMetricBytes) return false;
    Add(at, fmt::format("has {} bytes; expected at most {}", metric.size(), kMostMetricBytes));
    return true;
  }

  // The trainer has to print the metric.
  void PrintedMetric(const std::string& at, const std::string& metric) {
    if (IsLongMetric(at, metric)) return;
    std::vector<std::string> printed = PrintedMetrics(spec_);
    for (const v1::MetricDefinition& defined : trainer_.metrics()) printed.push_back(defined.name());
    if (metric.empty() || printed.empty())
      return;  // an empty name is ValidateSearch's, no metrics the trainer's
    if (std::find(printed.begin(), printed.end(), metric) != printed.end()) return;
    std::string description = Quoted(metric) + " is not printed by the trainer; it prints " + Joined(printed);
    const std::string part = "validation:";
    const std::string of_training = "train:" + metric.substr(std::min(metric.size(), part.size()));
    const bool lacks_data =
        metric.rfind(part, 0) == 0 && std::find(printed.begin(), printed.end(), of_training) != printed.end();
    if (builtin_ != nullptr && lacks_data) {
      description += " (expected a channel validation, or validation_fraction in channel train)";
    } else if (builtin_ != nullptr) {
      description += " (eval_metric in static_hyperparameters says which)";
    }
    Add(at, description);
  }

  void Limits() {
    if (spec_.limits().has_max_wall_time()) {
      DurationOf("limits.max_wall_time", spec_.limits().max_wall_time(), kMostSeconds);
    }
    if (spec_.limits().has_max_attempt_time()) {
      DurationOf("limits.max_attempt_time", spec_.limits().max_attempt_time(), kMostSeconds);
      if (trainer_.external()) {
        Add("limits.max_attempt_time",
            "is given; expected none with an external trainer, of which no process is started here");
      }
    }
    const double node_seconds = spec_.limits().max_node_seconds();
    if (!(node_seconds >= 0 && node_seconds <= kMostNodeSeconds)) {
      Add("limits.max_node_seconds",
          fmt::format("is {}; expected 0 (no limit) to {:.0f} seconds", node_seconds, kMostNodeSeconds));
    }
    if (const double cost = spec_.limits().max_cost(); !(cost >= 0 && cost <= kMostCost)) {
      Add("limits.max_cost", fmt::format("is {}; expected 0 (no limit) to {:.0f}", cost, kMostCost));
    }
  }

  void DurationOf(const std::string& at, const google::protobuf::Duration& duration, int64_t most_seconds) {
    const int64_t seconds = duration.seconds(), nanos = duration.nanos();
    if (seconds >= 0 && nanos >= 0 && nanos < 1'000'000'000 && seconds + (nanos > 0 ? 1 : 0) <= most_seconds)
      return;
    Add(at, fmt::format("is {}s; expected 0s to {}s",
                        static_cast<double>(seconds) + static_cast<double>(nanos) * 1e-9, most_seconds));
  }

  const v1::TuningJobSpec& spec_;
  const v1::TrainerSpec& trainer_;
  const BuiltinTrainer* builtin_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckSpec(const v1::TuningJobSpec& spec) {
  if (std::vector<Violation> large = CheckSize(spec); !large.empty()) return large;
  std::vector<Violation> violations = SpecChecker(spec).Run();
  // A thing that two checks see is said once, by the first.
  std::set<std::pair<std::string, std::string>> said;
  std::vector<Violation> once;
  for (Violation& violation : violations) {
    if (said.emplace(violation.field, violation.description).second) once.push_back(std::move(violation));
  }
  return once;
}

}  // namespace winnow
