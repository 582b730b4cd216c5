#pragma once

#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "scheduler/space/identical.h"

namespace winnow {

// How a member of a fact is kept in the database.
enum class Kept {
  kAlways,         // in the row's JSON object; but "trial" in a column of its own
  kOrDefault,      // written always, but rows of old files may lack it: then it is the default
  kUnlessDefault,  // left out where it is the default
  kInKind,         // in the name of the row's kind
};

struct FactField {
  const char* name;
  Kept kept;
  constexpr FactField(const char* field, Kept how = Kept::kAlways) : name(field), kept(how) {}
};

// A struct of at most 8 members that names all of them, in their order, as its static constexpr FactField
// kFields[].
template <typename F>
concept HasFields = requires {
  F::kFields;
};

// How many members an aggregate has.
struct AnyMember {
  template <typename T>
  operator T() const;
};
template <typename T, typename... Members>
consteval size_t MemberCount() {
  if constexpr (requires { T{Members{}..., AnyMember{}}; }) {
    return MemberCount<T, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

// References to the members, in their order.
template <typename F>
constexpr auto MembersOf(F& fact) {
  constexpr size_t kCount = std::size(F::kFields);
  static_assert(kCount == MemberCount<std::remove_const_t<F>>(), "kFields names every member");
  if constexpr (kCount == 1) {
    auto& [a] = fact;
    return std::tie(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = fact;
    return std::tie(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = fact;
    return std::tie(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = fact;
    return std::tie(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = fact;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = fact;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = fact;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = fact;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

// Calls `take` with each field and a reference to its member.
template <HasFields F, typename Take>
void ForEachField(F& fact, Take take) {
  const FactField* field = F::kFields;
  std::apply([&](auto&... members) { (take(*field++, members), ...); }, MembersOf(fact));
}

// Equal in every member, reals by their bits.
template <HasFields F>
bool operator==(const F& a, const F& b) {
  const auto equal = [&b](const auto&... x) {
    return std::apply([&](const auto&... y) { return (Identical(x, y) && ...); }, MembersOf(b));
  };
  return std::apply(equal, MembersOf(a));
}

}  // namespace winnow
