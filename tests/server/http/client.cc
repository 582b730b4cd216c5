#include "tests/server/http/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "tests/catch.h"

namespace winnow {
namespace {

constexpr timeval kPatience{30, 0};

}  // namespace

HttpClient::HttpClient(int port) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(socket_ >= 0);
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

HttpClient::~HttpClient() { close(socket_); }

bool HttpClient::Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t some = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (some <= 0) return false;
    sent += static_cast<size_t>(some);
  }
  return true;
}

bool HttpClient::Fill() {
  char part[16384];
  const ssize_t bytes = recv(socket_, part, sizeof part, 0);
  if (bytes > 0) buffer_.append(part, static_cast<size_t>(bytes));
  return bytes > 0;
}

bool HttpClient::IsClosed() {
  while (true) {
    char part[16384];
    const ssize_t bytes = recv(socket_, part, sizeof part, 0);
    if (bytes == 0) return true;
    if (bytes < 0) return errno == ECONNRESET;
  }
}

std::optional<std::string> HttpClient::TakeLine() {
  size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!Fill()) return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

std::string HttpClient::Take(size_t bytes) {
  while (buffer_.size() < bytes && Fill()) {
  }
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return taken;
}

HttpReply HttpClient::ReadHead() {
  HttpReply reply;
  const std::optional<std::string> first = TakeLine();
  if (!first || first->size() < 12) return reply;
  for (std::optional<std::string> line; (line = TakeLine()) && !line->empty();) {
    const size_t colon = line->find(": ");
    std::string name = line->substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = line->substr(colon + 2);
  }
  reply.status = std::stoi(first->substr(9, 3));
  return reply;
}

std::optional<std::string> HttpClient::TakeChunk() {
  const std::optional<std::string> size = TakeLine();
  if (!size) return std::nullopt;
  std::string chunk = Take(std::stoul(*size, nullptr, 16));
  Take(2);
  if (chunk.empty()) return std::nullopt;
  return chunk;
}

HttpReply HttpClient::Read(bool head) {
  HttpReply reply = ReadHead();
  if (reply.status == 100) reply = ReadHead();
  if (head || reply.status == 0 || !reply.headers.contains("content-length")) return reply;
  const size_t length = std::stoul(reply.headers["content-length"]);
  reply.body = Take(length);
  if (reply.body.size() != length) reply.status = 0;
  return reply;
}

std::optional<std::string> HttpClient::ReadEvent() {
  size_t end = 0;
  while ((end = events_.find("\n\n")) == std::string::npos) {
    const std::optional<std::string> chunk = TakeChunk();
    if (!chunk) return std::nullopt;
    events_ += *chunk;
  }
  std::string event = events_.substr(0, end);
  events_.erase(0, end + 2);
  return event;
}

std::string RequestText(const std::string& method, const std::string& target, const std::string& body,
                        const HttpClient::Headers& headers) {
  std::string text = method + " " + target + " HTTP/1.1\r\n";
  if (!headers.contains("Host")) text += "Host: localhost\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  if (!body.empty() && !headers.contains("Content-Type")) text += "Content-Type: application/json\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

HttpReply HttpClient::Ask(const std::string& method, const std::string& target, const std::string& body,
                          const Headers& headers) {
  Send(RequestText(method, target, body, headers));
  return Read(method == "HEAD");
}

HttpReply AskOnce(int port, const std::string& method, const std::string& target, const std::string& body,
                  const HttpClient::Headers& headers) {
  HttpClient client(port);
  return client.Ask(method, target, body, headers);
}

}  // namespace winnow
