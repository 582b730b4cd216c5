#pragma once

#include <string>

#include "server/http/message.h"

namespace winnow {

// What an answer begins with: status line and headers, to the empty line. `answer`'s own headers, its length,
// and what every answer says to browsers: that the page may load nothing from elsewhere, run no script that
// stands in a page, and not be shown within another; over TLS, that it comes no other way.
std::string AnswerHead(const HttpAnswer& answer, bool keep_alive, bool tls);

// Of a stream of events: without a length; chunked, or to the connection's end for a client of HTTP/1.0.
std::string StreamHead(bool chunked, bool tls);

// `bytes` as one chunk; "" gives the last one.
std::string Chunk(const std::string& bytes);

}  // namespace winnow
