#include "server/http/message.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"

namespace winnow {
namespace {

constexpr char kForBrowsers[] =
    "Content-Security-Policy: default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

// Makes a browser that used TLS once use only TLS for a year.
constexpr char kOverTls[] = "Strict-Transport-Security: max-age=31536000\r\n";

// A control character would begin another header, or the body.
std::string WithoutControls(std::string text) {
  std::replace_if(text.begin(), text.end(), absl::ascii_iscntrl, ' ');
  return text;
}

std::string ForBrowsers(bool tls) { return std::string(kForBrowsers) + (tls ? kOverTls : ""); }

}  // namespace

std::string AnswerHead(const HttpAnswer& answer, bool keep_alive, bool tls) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, ReasonPhrase(answer.status));
  for (const auto& [name, value] : answer.headers) head += WithoutControls(name + ": " + value) + "\r\n";
  if (answer.status != 304 && answer.status != 204)
    head += fmt::format("Content-Length: {}\r\n", answer.size());
  head += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return head + ForBrowsers(tls) + "\r\n";
}

std::string StreamHead(bool chunked, bool tls) {
  return std::string("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n") +
         "X-Accel-Buffering: no\r\n" +
         (chunked ? "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n" : "Connection: close\r\n") +
         ForBrowsers(tls) + "\r\n";
}

std::string Chunk(const std::string& bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

HttpAnswer JsonAnswer(int status, std::string json) {
  HttpAnswer answer;
  answer.status = status;
  answer.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  answer.body = std::move(json);
  return answer;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return status < 500 ? "Error" : "Internal Server Error";
  }
}

}  // namespace winnow
