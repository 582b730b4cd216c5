#pragma once

#include <string_view>

namespace winnow {

// The server's HTTP interface as OpenAPI 3.0 in JSON; made once, from the contract and its comments.
std::string_view OpenApiJson();

}  // namespace winnow
