#include "server/http/message.h"

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Http: no header of an answer begins another one, or the body", "[http]") {
  HttpAnswer answer;
  answer.headers = {{"Location", "/a\r\nSet-Cookie: x=1\r\n\r\nbody"},
                    {"X-A\r\nX-B", std::string("\0\x7f", 2)}};
  const std::string head = AnswerHead(answer, true, false);
  CHECK(head.find("\r\nLocation: /a  Set-Cookie: x=1    body\r\n") != std::string::npos);
  CHECK(head.find("\r\nX-A  X-B:   \r\n") != std::string::npos);
  CHECK(head.find("\r\n\r\n") == head.size() - 4);
}

}  // namespace
}  // namespace winnow
