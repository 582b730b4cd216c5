#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {

// A complete request.
struct HttpRequest {
  std::string method;  // "GET"; unchanged
  std::string target;  // path and query, unchanged
  std::map<std::string, std::string, std::less<>>
      headers;  // by lower-case name; lines of one name joined by ", "
  std::string body;
  std::string peer;  // gRPC's form: "ipv4:127.0.0.1:5000"

  // "" if there is none.
  std::string_view header(std::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
};

// The bytes of an answer that is too long for memory.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual int64_t size() const = 0;
  // Returns the next bytes, at most `most`; "" if they cannot be read. REQUIRES: not all have been read.
  virtual std::string Next(size_t most) = 0;
};

// An answer. The headers of every answer (length, security) are added when it is written.
struct HttpAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // Instead of `body`: bytes that live as long as the program.
  std::string_view fixed;
  // Instead of both: bytes that are read as they are sent.
  std::shared_ptr<BodySource> source = nullptr;

  std::string_view content() const { return fixed.empty() ? std::string_view(body) : fixed; }
  int64_t size() const { return source ? source->size() : static_cast<int64_t>(content().size()); }
};

HttpAnswer JsonAnswer(int status, std::string json);

// "Not Found" for 404.
std::string_view ReasonPhrase(int status);

// Returns status line and headers up to the empty line: `answer`'s own headers, its length, and the security
// headers of every answer: the page may load nothing from other sites, run no inline scripts, and not be
// framed; over TLS, that browsers must use TLS. Control characters in `answer`'s own headers become blanks.
std::string AnswerHead(const HttpAnswer& answer, bool keep_alive, bool tls);

// Head of a stream of events without a length: chunked, or until the connection's end for HTTP/1.0.
std::string StreamHead(bool chunked, bool tls);

// Returns `bytes` as one chunk; "" gives the last one.
std::string Chunk(const std::string& bytes);

// The processing of a request whose answer takes time or is a stream of events. One thread at a time calls
// it.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Called once, first. `changed` is called on any thread whenever Next may return something new, but never
  // after the last step or after cancellation and destruction.
  virtual void Start(std::function<void()> changed) = 0;

  struct Step {
    enum class Kind {
      kWait,    // nothing yet
      kAnswer,  // the whole answer; the last step
      kOpen,    // a stream of events begins
      kPart,    // a part of it
      kEnd,     // end of the stream; the last step
    };
    Kind kind = Kind::kWait;
    HttpAnswer answer = {};
    std::string part = {};
  };
  virtual Step Next() = 0;

  // The client has disconnected: Next is not called again.
  virtual void Cancel() = 0;
};

}  // namespace winnow
