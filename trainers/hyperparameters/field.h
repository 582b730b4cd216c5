#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
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

}  // namespace winnow
