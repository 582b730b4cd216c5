// Arbitrary bytes of a client over a real socket: the server answers or closes, and continues. It has no gRPC
// behind it: calls of methods get an error.

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "server/http/http_server.h"
#include "tests/fuzz/fuzz.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;

HttpServer& Server() {
  static HttpServer& kServer = *[] {
    HttpServerOptions options;
    options.address = "127.0.0.1:0";
    // Short timeouts, because an input has no second part.
    options.limits.read_header = options.limits.read_body = options.limits.idle = milliseconds(200);
    options.limits.body_bytes = 4096;
    options.limits.call = milliseconds(200);
#ifdef __clang__
    // Clang 16, with sanitizers, reads a coroutine's frame when another thread may have gone on with it (LLVM
    // issues 56301, 72006).
    options.threads = 1;
#endif
    auto channel = grpc::CreateChannel("unix:/nonexistent", grpc::InsecureChannelCredentials());
    auto started = HttpServer::Start(options, channel);
    fuzz::Require(started.ok(), "a server starts");
    return started->release();  // as long as the program
  }();
  return kServer;
}

// libFuzzer looks at its clock by a signal, which would end a call that waits.
void BlockAlarm() {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
}

sockaddr_in Loopback(uint32_t host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl((127u << 24) + host);
  return address;
}

int Connect() {
  BlockAlarm();
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // Each from another address, since ports of one that has ended come free only after a minute.
  static uint32_t connections = 0;
  const sockaddr_in own = Loopback(2 + ++connections % 200, 0);
  const sockaddr_in server = Loopback(1, Server().port());
  const bool connected = bind(client, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
                         connect(client, reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0;
  fuzz::Require(connected, std::string("it accepts: ") + std::strerror(errno));
  const timeval patience{20, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return client;
}

// All that comes until the other side closes.
std::string Converse(std::string_view bytes) {
  const int client = Connect();
  (void)!send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  shutdown(client, SHUT_WR);
  std::string answer;
  char part[16384];
  ssize_t some = 0;
  while ((some = recv(client, part, sizeof part, 0)) > 0) answer.append(part, static_cast<size_t>(some));
  fuzz::Require(some == 0 || errno == ECONNRESET, std::string("it closes in time: ") + std::strerror(errno));
  close(client);
  return answer;
}

}  // namespace
}  // namespace winnow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  const std::string answer = Converse({reinterpret_cast<const char*>(data), size});
  fuzz::Require(answer.empty() || answer.starts_with("HTTP/1.1 "), "an answer is one of HTTP");
  return 0;
}
