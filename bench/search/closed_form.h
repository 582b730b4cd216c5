#pragma once

#include <memory>
#include <string_view>

#include "bench/search/families.h"

namespace winnow {

// Returns the closed-form family of that name; null if there is none.
std::unique_ptr<Family> MakeClosedForm(std::string_view name);

}  // namespace winnow
