#pragma once

#include <string>

#include "server/http/message.h"

namespace winnow {

// Returns status line and headers up to the empty line: `answer`'s own headers, its length, and the security
// headers of every answer: the page may load nothing from other sites, run no inline scripts, and not be
// framed; over TLS, that browsers must use TLS.
std::string AnswerHead(const HttpAnswer& answer, bool keep_alive, bool tls);

// Head of a stream of events without a length: chunked, or until the connection's end for HTTP/1.0.
std::string StreamHead(bool chunked, bool tls);

// Returns `bytes` as one chunk; "" gives the last one.
std::string Chunk(const std::string& bytes);

}  // namespace winnow
