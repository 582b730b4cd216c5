#pragma once

#include "absl/status/statusor.h"
#include "tests/catch.h"

namespace winnow {

// Returns the value itself, so that a loop may iterate over it; an error fails the test.
template <typename T>
T Get(absl::StatusOr<T> value) {
  INFO(value.status().ToString());
  REQUIRE(value.ok());
  return *std::move(value);
}

}  // namespace winnow
