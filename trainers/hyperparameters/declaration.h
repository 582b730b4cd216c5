#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainers/hyperparameters/field.h"
#include "trainers/hyperparameters/hyperparameter.h"

namespace winnow {

// What is known of the hyperparameters of a trial, or of all trials of a job. Keys are first names.
struct Given {
  std::map<std::string, std::string, std::less<>> values;  // texts
  std::set<std::string, std::less<>> open;  // given, but without one known value: tuned, or not legal

  bool Has(std::string_view name) const { return values.count(name) > 0 || open.count(name) > 0; }
};

// A value that does not go together with others.
struct Contradiction {
  std::string name;                  // first name
  std::optional<std::string> value;  // absent: not given, or open
  std::string expected;              // "at most batch_size = 128"
};

// Collects contradictions. REQUIRES: `given` outlives it.
class CrossChecks {
 public:
  explicit CrossChecks(const Given& given) : given_(given) {}

  // Unless `holds`, a contradiction of the first of `reads`, which names all hyperparameters that `holds`
  // depends on. Nothing is known, and nothing is said, where one of them is open.
  void Expect(bool holds, std::initializer_list<std::string_view> reads, const std::string& expected);
  void Refuse(std::string_view name, std::string expected);
  void Refuse(std::string_view name, std::optional<std::string> value, std::string expected);

  std::vector<Contradiction> Take() { return std::move(found_); }

 private:
  const Given& given_;
  std::vector<Contradiction> found_;
};

// What a built-in trainer takes.
struct Declaration {
  using SecondName = std::pair<std::string_view, std::string_view>;  // and the first name that it means

  std::string_view program;
  std::vector<const Hyperparameter*> hyperparameters;  // in the order of the reference
  std::vector<std::string> defaults;                   // of each, as text; "": none
  std::span<const SecondName> second_names;
  // The metrics that are evaluated: those of eval_metric, else the ones that go with the loss or objective.
  std::vector<std::string> (*metrics)(const Given& given) = nullptr;
  std::vector<Contradiction> (*contradictions)(const Given& given) = nullptr;

  // The first name of a hyperparameter that has several; else the name. A dash counts as an underscore.
  std::string FirstName(std::string_view name) const;
  const Hyperparameter* Find(std::string_view name) const;  // by any name; null: unknown
  std::vector<std::string> Names() const;                   // first and second names
  std::string DefaultOf(std::string_view first_name) const;

  // A table in Markdown: each hyperparameter with its values, default and meaning.
  std::string Table() const;
};

template <class P>
Declaration Declare(std::string_view program, std::span<const Field<P>> fields) {
  Declaration declaration;
  declaration.program = program;
  for (const Field<P>& field : fields) {
    declaration.hyperparameters.push_back(&field);
    declaration.defaults.push_back(field.has_member() ? ValueText(field, P{}) : "");
  }
  return declaration;
}

// The defaults with the values that are known. Texts that are not legal are left out.
template <class P>
P KnownParameters(std::span<const Field<P>> fields, const Given& given) {
  P parameters;
  for (const Field<P>& field : fields) {
    if (const auto found = given.values.find(field.name); found != given.values.end())
      ReadInto(field, found->second, &parameters);
  }
  return parameters;
}

}  // namespace winnow
