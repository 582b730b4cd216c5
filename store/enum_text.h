#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// The texts of an enumeration's values in one column, in the order of the enumerators.
template <typename Enum, size_t N>
class EnumTexts {
 public:
  constexpr EnumTexts(const char* column, const char* const (&texts)[N]) : column_(column), texts_(texts) {}

  const char* Text(Enum value) const { return texts_[static_cast<size_t>(value)]; }
  // DATA_LOSS: no value has that text.
  absl::Status Read(const std::string& text, Enum& value) const {
    for (size_t i = 0; i < N; ++i) {
      if (text != texts_[i]) continue;
      value = static_cast<Enum>(i);
      return absl::OkStatus();
    }
    return absl::DataLossError(fmt::format("{} is \"{}\", which is not known", column_, text));
  }

 private:
  const char* column_;
  const char* const (&texts_)[N];
};

}  // namespace winnow
