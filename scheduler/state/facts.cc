#include "scheduler/state/facts.h"

#include "scheduler/space/space.h"

namespace winnow {
namespace {

template <typename T>
std::string TextOf(const T& value) {
  if constexpr (std::is_convertible_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, Value>) {
    return ValueToString(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return DoubleToString(value);
  } else if constexpr (std::ranges::range<T>) {
    std::string text;
    for (const auto& each : value) text += (text.empty() ? "" : ", ") + TextOf(each);
    return "(" + text + ")";
  } else {
    return std::to_string(static_cast<int64_t>(value));
  }
}

}  // namespace

std::string ByAndWhy(const std::string& by, const std::string& why) {
  std::string words = by.empty() ? "" : " by " + by;
  words += why.empty() ? "" : ": " + why;
  return words.ends_with('.') ? words : words + ".";
}

FactBody ToBody(const Decision& decision) {
  return std::visit([](const auto& d) -> FactBody { return d; }, decision);
}

std::string Describe(const FactBody& body) {
  return std::visit(
      [](const auto& fact) {
        std::string text;
        ForEachField(fact, [&text](const FactField& field, const auto& member) {
          text += (text.empty() ? ": " : ", ") + std::string(field.name) + " " + TextOf(member);
        });
        return fact.kKind + text;
      },
      body);
}

}  // namespace winnow
