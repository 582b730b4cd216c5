#include "trainers/hyperparameters/declaration.h"

#include <algorithm>

namespace winnow {
namespace {

std::string Escaped(std::string text) {  // of a cell of a table
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

}  // namespace

void CrossChecks::Expect(bool holds, std::initializer_list<std::string_view> reads,
                         const std::string& expected) {
  if (holds) return;
  if (std::any_of(reads.begin(), reads.end(), [&](auto name) { return given_.open.count(name) > 0; })) return;
  Refuse(*reads.begin(), expected);
}

void CrossChecks::Refuse(std::string_view name, std::string expected) {
  const auto value = given_.values.find(name);
  Refuse(name, value == given_.values.end() ? std::nullopt : std::optional(value->second),
         std::move(expected));
}

void CrossChecks::Refuse(std::string_view name, std::optional<std::string> value, std::string expected) {
  found_.push_back({std::string(name), std::move(value), std::move(expected)});
}

std::string Declaration::FirstName(std::string_view name) const {
  std::string first(name);
  std::replace(first.begin(), first.end(), '-', '_');
  for (const auto& [second, meant] : second_names) {
    if (first == second) return std::string(meant);
  }
  return first;
}

const Hyperparameter* Declaration::Find(std::string_view name) const {
  const auto found =
      std::find_if(hyperparameters.begin(), hyperparameters.end(),
                   [first = FirstName(name)](const auto* known) { return known->name == first; });
  return found == hyperparameters.end() ? nullptr : *found;
}

std::vector<std::string> Declaration::Names() const {
  std::vector<std::string> names;
  for (const Hyperparameter* known : hyperparameters) names.emplace_back(known->name);
  for (const auto& [second, meant] : second_names) names.emplace_back(second);
  return names;
}

std::string Declaration::DefaultOf(std::string_view first_name) const {
  for (std::size_t i = 0; i < hyperparameters.size(); ++i) {
    if (hyperparameters[i]->name == first_name) return defaults[i];
  }
  return "";
}

std::string Declaration::Table() const {
  std::string table = "| name | values | default | meaning |\n| --- | --- | --- | --- |\n";
  for (std::size_t i = 0; i < hyperparameters.size(); ++i) {
    const Hyperparameter& known = *hyperparameters[i];
    std::string names = fmt::format("`{}`", known.name);
    for (const auto& [second, meant] : second_names) {
      if (meant == known.name) names += fmt::format(", `{}`", second);
    }
    std::string values = Expected(known);
    for (const Word& word : known.words) {
      if (WordOf(known, word.value) != word.text)
        values += fmt::format("; {} means {}", word.text, WordOf(known, word.value));
    }
    table +=
        fmt::format("| {} | {} | {} | {}{} |\n", names, values,
                    defaults[i].empty() ? "" : "`" + defaults[i] + "`", Escaped(std::string(known.meaning)),
                    !known.tunable     ? ". It cannot be tuned"
                    : known.may_change ? ". It may change while a model is trained"
                                       : "");
  }
  return table;
}

}  // namespace winnow
