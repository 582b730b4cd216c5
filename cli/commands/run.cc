#include "cli/commands/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cli/commands/actions.h"
#include "cli/commands/job_source.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kChoice = "choice:";
// A longer name, such as train_loss, train-loss and train/loss, does not count.
constexpr char kMetricBegin[] = R"((?:^|[^\w./-])["']?)";
// A number behind "loss=", "loss: " or "\"loss\": ". R, Java and JSON of Python write NaN and Infinity.
constexpr char kMetricValue[] =
    R"(\s*[=:]\s*([-+]?(?:[0-9.]+(?:[eE][-+]?[0-9]+)?|(?i:nan|inf(?:inity)?)\b)))";

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> NumberOf(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool starts = !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) != 0 ||
                                        text[0] == '-' || text[0] == '+' || text[0] == '.');
  if (!starts || *end != '\0' || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool IsInteger(const std::string& text) {
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  return text.size() > sign && text.size() < 17 + sign &&
         text.find_first_not_of("0123456789", sign) == std::string::npos;
}

// Returns the range as a member of a job file's parameter; nothing if the text is none.
std::optional<std::pair<std::string, Json>> RangeOf(const std::string& text) {
  if (text.starts_with(kChoice)) {
    Json range;
    range["values"] = Split(std::string_view(text).substr(kChoice.size()), ',');
    return std::pair("categorical", std::move(range));
  }
  const std::vector<std::string> parts = Split(text, ':');
  if (parts.size() < 2 || parts.size() > 3 || !NumberOf(parts[0]) || !NumberOf(parts[1])) return std::nullopt;
  const std::string how = parts.size() == 3 ? parts[2] : "";
  if (how != "" && how != "log" && how != "real") return std::nullopt;
  const bool integer = IsInteger(parts[0]) && IsInteger(parts[1]) && how != "real";
  Json range;
  if (integer) {
    range["min"] = std::strtoll(parts[0].c_str(), nullptr, 10);
    range["max"] = std::strtoll(parts[1].c_str(), nullptr, 10);
  } else {
    range["min"] = *NumberOf(parts[0]);
    range["max"] = *NumberOf(parts[1]);
  }
  if (how == "log") range["scaling"] = "LOG";
  return std::pair(integer ? "integer" : "continuous", std::move(range));
}

// The word behind a range that is neither log nor real, as in 0:1:lin; "": there is none.
std::string WrongScaling(const std::string& text) {
  const std::vector<std::string> parts = Split(text, ':');
  const bool almost = parts.size() == 3 && NumberOf(parts[0]) && NumberOf(parts[1]) && !RangeOf(text);
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  return almost && std::all_of(parts[2].begin(), parts[2].end(), is_letter) ? parts[2] : "";
}

// Whether the text is 0:1, two integers, behind a name or not: most who write it mean the numbers between
// them.
bool IsZeroOrOne(const std::string& text) { return text == "0:1" || text.ends_with("=0:1"); }

// Whether the text is a list of words such as l1,l2: most who write it mean a choice.
bool IsListOfWords(const std::string& text) {
  const auto is_word = [](const std::string& part) {
    const auto continues = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    return !part.empty() && std::isalpha(static_cast<unsigned char>(part[0])) != 0 &&
           std::all_of(part.begin(), part.end(), continues);
  };
  const std::vector<std::string> parts = Split(text, ',');
  return parts.size() > 1 && std::all_of(parts.begin(), parts.end(), is_word);
}

std::string WithoutDashes(const std::string& flag) {
  return flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
}

bool IsFlagWord(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !NumberOf(word) && word.find('=') == std::string::npos;
}

// A regular expression that matches just `text`.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
    escaped += plain ? std::string(1, c) : std::string("\\") + c;
  }
  return escaped;
}

// Returns a job's name from the program: "train" of `python3 train.py`.
std::string NameOf(const std::vector<std::string>& words) {
  fs::path script = words.front();
  for (const std::string& word : words) {
    const std::string extension = fs::path(word).extension().string();
    if (extension == ".py" || extension == ".sh" || extension == ".R" || extension == ".jl") {
      script = word;
      break;
    }
  }
  return JobNameFrom(script.stem().string());
}

}  // namespace

absl::StatusOr<std::string> JobFileOf(const RunOptions& options) {
  Json command = Json::array();
  Json parameters = Json::array();
  std::set<std::string> names;
  const auto add = [&](const std::string& name, std::pair<std::string, Json> range) {
    Json parameter;
    parameter["name"] = name;
    parameter[range.first] = std::move(range.second);
    parameters.push_back(std::move(parameter));
    return names.insert(name).second;
  };
  const auto twice = [](const std::string& name) {
    return UsageError(fmt::format("two ranges are named {}; expected one of a name", Clean(name)));
  };
  for (size_t i = 0; i < options.words.size(); ++i) {
    const std::string& word = options.words[i];
    const size_t equals = word.find('=');
    if (word.substr(equals + 1) == kChoice) {
      return UsageError(
          fmt::format("{} has no values; expected a range such as choice:adam,sgd", Clean(word)));
    }
    if (auto range = RangeOf(word)) {
      if (i == 0 || !IsFlagWord(options.words[i - 1])) {
        return UsageError(fmt::format("{} is a range without a name; expected --NAME {} or NAME={}",
                                      Clean(word), Clean(word), Clean(word)));
      }
      const std::string name = WithoutDashes(options.words[i - 1]);
      if (!add(name, *std::move(range))) return twice(name);
      command.push_back("{{" + name + "}}");
      continue;
    }
    if (const std::string wrong = WrongScaling(word.substr(equals + 1)); !wrong.empty()) {
      return UsageError(
          fmt::format("{}: \"{}\" is neither log nor real; expected a range such as 1e-4:0.1:log",
                      Clean(word), Clean(wrong)));
    }
    auto range = equals == std::string::npos || equals == 0 ? std::nullopt : RangeOf(word.substr(equals + 1));
    if (range) {
      const std::string name = WithoutDashes(word.substr(0, equals));
      if (!add(name, *std::move(range))) return twice(name);
      command.push_back(word.substr(0, equals + 1) + "{{" + name + "}}");
    } else {
      command.push_back(word);
    }
  }
  if (parameters.empty()) {
    return UsageError(
        "no argument of the program is a range; expected some, such as --lr 1e-4:0.1:log, --layers 1:6 or "
        "--optimizer choice:adam,sgd");
  }
  Json job;
  job["name"] = options.name.empty() ? NameOf(options.words) : options.name;
  Json& trainer = job["trainer"];
  if (options.source) trainer["source"] = ".";
  trainer["command"] = std::move(command);
  const std::string regex = options.metric_regex.empty()
                                ? kMetricBegin + Escaped(options.metric) + R"(["']?)" + kMetricValue
                                : options.metric_regex;
  trainer["metrics"] = Json::array({{{"name", options.metric}, {"regex", regex}}});
  if (!options.resource_regex.empty()) trainer["resource_regex"] = options.resource_regex;
  trainer["resumes"] = options.resumes;
  job["parameters"] = std::move(parameters);
  job["objective"] = {{"metric", options.metric}, {"goal", options.maximize ? "MAXIMIZE" : "MINIMIZE"}};
  if (options.max_resource > 0) job["hyperband"] = {{"max_resource", options.max_resource}};
  job["limits"] = {{"max_trials", options.trials}};
  if (options.parallel > 0) job["limits"]["max_parallel_trials"] = options.parallel;
  return job.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Exit RunProgram(Session& session, const RunOptions& options) {
  const absl::StatusOr<std::string> file = JobFileOf(options);
  if (!file.ok()) return file.status();
  std::error_code ignored;
  auto spec = CheckedJob(*file, "the job", fs::current_path(ignored), "");
  if (!spec.ok()) return spec.status();
  if (std::any_of(options.words.begin(), options.words.end(), IsZeroOrOne))
    session.err.Print("note: 0:1 is the integers 0 and 1; the numbers between them are 0:1:real\n");
  for (const std::string& word : options.words) {
    const std::string value = word.substr(word.find('=') + 1);
    if (IsListOfWords(value))
      session.err.Print(
          fmt::format("note: the program gets {0} as it is; to try each value, write choice:{0}\n", value));
  }
  if (options.print) {
    session.out.Print(*file);
    return kSuccess;
  }
  SubmitOptions submit;
  submit.watch = !options.detach;
  submit.project = options.project;
  return SubmitSpec(session, *std::move(spec), submit);
}

}  // namespace winnow::cli
