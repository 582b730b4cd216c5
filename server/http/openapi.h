#pragma once

#include <string_view>

namespace winnow {

// What the server takes over HTTP, as OpenAPI 3.0 in JSON; made once, from the contract and its comments.
std::string_view OpenApiJson();

}  // namespace winnow
