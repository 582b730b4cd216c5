#pragma once

#include <string>
#include <string_view>

namespace winnow {

// Returns the SHA-256 as 64 lower-case hexadecimal digits.
std::string DigestOf(std::string_view bytes);
bool IsDigest(std::string_view text);

}  // namespace winnow
