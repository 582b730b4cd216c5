#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <stdexcept>

namespace winnow {

std::string ScriptedRequest::Query(const std::string& name) const {
  const size_t mark = target.find('?');
  if (mark == std::string::npos) return "";
  const std::string query = "&" + target.substr(mark + 1) + "&";
  const size_t at = query.find("&" + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return query.substr(begin, query.find('&', begin) - begin);
}

bool ScriptedReply::Write(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

void ScriptedReply::Send(int status, const std::string& body, const std::string& headers) {
  answered_ = true;
  Write("HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" + headers +
        "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

void ScriptedReply::Begin() {
  answered_ = begun_ = true;
  Write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool ScriptedReply::Piece(const std::string& text) {
  char size[32];
  snprintf(size, sizeof size, "%zx\r\n", text.size());
  return Write(size + text + "\r\n");
}

void ScriptedReply::Drop() { dropped_ = true; }

ScriptedServer::ScriptedServer(Handler handler, int port) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t length = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no port for the scripted server");
  }
  port_ = ntohs(address.sin_port);
  accepter_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    changed_.NotifyAll();
  }
  shutdown(listener_, SHUT_RDWR);
  accepter_.join();
  close(listener_);
  std::list<std::thread> threads;
  {
    MutexLock lock(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::string> ScriptedServer::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

bool ScriptedServer::WaitForCalls(size_t count) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  MutexLock lock(mutex_);
  while (calls_.size() < count && std::chrono::steady_clock::now() < end) changed_.WaitUntil(mutex_, end);
  return calls_.size() >= count;
}

bool ScriptedServer::ending() const {
  MutexLock lock(mutex_);
  return ending_;
}

void ScriptedServer::WaitForGate() {
  MutexLock lock(mutex_);
  while (!open_ && !ending_) changed_.Wait(mutex_);
}

void ScriptedServer::Open() {
  MutexLock lock(mutex_);
  open_ = true;
  changed_.NotifyAll();
}

void ScriptedServer::Accept() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    MutexLock lock(mutex_);
    if (ending_) {
      close(socket);
      return;
    }
    sockets_.insert(socket);
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void ScriptedServer::Serve(int socket) {
  std::string buffer;
  const auto fill = [&] {
    char bytes[4096];
    const ssize_t count = recv(socket, bytes, sizeof bytes, 0);
    if (count > 0) buffer.append(bytes, static_cast<size_t>(count));
    return count > 0;
  };
  while (true) {
    size_t end = std::string::npos;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos && fill()) {
    }
    if (end == std::string::npos) break;
    ScriptedRequest request;
    const std::string head = buffer.substr(0, end);
    buffer.erase(0, end + 4);
    request.method = head.substr(0, head.find(' '));
    const size_t target = head.find(' ') + 1;
    request.target = head.substr(target, head.find(' ', target) - target);
    for (size_t line = head.find("\r\n"); line != std::string::npos; line = head.find("\r\n", line + 2)) {
      const std::string text = head.substr(line + 2, head.find("\r\n", line + 2) - line - 2);
      std::string name = text.substr(0, text.find(':'));
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      request.headers[name] = text.substr(std::min(text.size(), name.size() + 2));
    }
    const auto length = request.headers.find("content-length");
    const size_t bytes = length == request.headers.end() ? 0 : std::stoul(length->second);
    while (buffer.size() < bytes && fill()) {
    }
    request.body = buffer.substr(0, bytes);
    buffer.erase(0, bytes);
    {
      MutexLock lock(mutex_);
      calls_.push_back(request.call());
      changed_.NotifyAll();
    }
    ScriptedReply reply(socket);
    handler_(request, reply);
    if (reply.begun_ && !reply.dropped_) reply.Write("0\r\n\r\n");
    if (reply.dropped_ || !reply.answered_) break;
  }
  MutexLock lock(mutex_);
  sockets_.erase(socket);
  close(socket);
}

}  // namespace winnow
