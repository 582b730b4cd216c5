#pragma once

#include <string>
#include <string_view>

namespace winnow {

// SHA-256, 64 lower-case hexadecimal digits.
std::string DigestOf(std::string_view bytes);
bool IsDigest(std::string_view text);

}  // namespace winnow
