#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainers/hyperparameters/hyperparameter.h"

namespace winnow {

// A hyperparameter and the member of a trainer's struct `P` that holds its value. One without a member is
// read by the trainer itself, or has no effect.
template <class P>
struct Field : Hyperparameter {
  double P::*real = nullptr;                            // kReal
  int64_t (*get)(const P& parameters) = nullptr;        // kWhole, kTruth, kWord
  void (*set)(P* parameters, int64_t value) = nullptr;  // likewise
  std::vector<int> P::*widths = nullptr;                // kWidths

  bool has_member() const { return real != nullptr || get != nullptr || widths != nullptr; }
};

// The rows of a trainer's table.
template <class P>
class Fields {
 public:
  using Kind = Hyperparameter::Kind;

  static constexpr Field<P> Real(std::string_view name, double P::*member, Interval range,
                                 std::string_view meaning) {
    return {{name, Kind::kReal, range, {}, meaning}, member};
  }
  template <auto Member>
  static constexpr Field<P> Whole(std::string_view name, double low, double high, std::string_view meaning) {
    return {{name, Kind::kWhole, {low, high}, {}, meaning}, nullptr, &Get<Member>, &Set<Member>};
  }
  template <auto Member>
  static constexpr Field<P> Truth(std::string_view name, std::span<const Word> words,
                                  std::string_view meaning) {
    return {{name, Kind::kTruth, {0, 1}, words, meaning}, nullptr, &Get<Member>, &Set<Member>};
  }
  template <auto Member>
  static constexpr Field<P> Choice(std::string_view name, std::span<const Word> words,
                                   std::string_view meaning) {
    return {{name, Kind::kWord, {}, words, meaning}, nullptr, &Get<Member>, &Set<Member>};
  }
  static constexpr Field<P> Other(Hyperparameter known) { return {known}; }
  static constexpr Field<P> Fixed(Field<P> field) {  // it cannot be tuned
    field.tunable = false;
    return field;
  }
  static constexpr Field<P> Changing(Field<P> field) {  // it may change while a model is trained
    field.may_change = true;
    return field;
  }

 private:
  template <auto Member>
  static int64_t Get(const P& parameters) {
    return static_cast<int64_t>(parameters.*Member);
  }
  template <auto Member>
  static void Set(P* parameters, int64_t value) {
    parameters->*Member = static_cast<std::remove_reference_t<decltype(parameters->*Member)>>(value);
  }
};

template <class P>
const Field<P>* FindField(std::span<const Field<P>> fields, std::string_view name) {
  for (const Field<P>& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// Sets the member of a field to what the text says. False: the text is not legal.
template <class P>
bool ReadInto(const Field<P>& field, std::string_view text, P* parameters) {
  std::optional<Reading> reading = Read(field, text);
  if (!reading) return false;
  if (field.real != nullptr) parameters->*field.real = reading->real;
  if (field.set != nullptr) field.set(parameters, reading->whole);
  if (field.widths != nullptr) parameters->*field.widths = std::move(reading->widths);
  return true;
}

// The value of a field's member as text that ReadInto takes. REQUIRES: the field has one.
template <class P>
std::string ValueText(const Field<P>& field, const P& parameters) {
  if (field.real != nullptr) return fmt::format("{}", parameters.*field.real);
  if (field.widths != nullptr) return fmt::format("{}", fmt::join(parameters.*field.widths, ","));
  const int64_t value = field.get(parameters);
  return field.words.empty() ? fmt::format("{}", value) : std::string(WordOf(field, value));
}

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
