#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace winnow {

// Whether the header Accept-Encoding allows gzip: "gzip, deflate;q=0.5" does, "gzip;q=0" does not.
bool AcceptsGzip(std::string_view accept);

// Compresses an answer of text, such as JSON, if that reduces its size; leaves others unchanged.
void Compress(HttpAnswer& answer);

}  // namespace winnow
