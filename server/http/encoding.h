#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace winnow {

// Whether the header Accept-Encoding takes gzip: "gzip, deflate;q=0.5" does, "gzip;q=0" does not.
bool AcceptsGzip(std::string_view accept);

// An answer of text, as JSON is, is compressed where that gains something; others stay as they are.
void Compress(HttpAnswer& answer);

}  // namespace winnow
