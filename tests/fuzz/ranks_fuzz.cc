// Bytes on the connections between ranks: hellos at rank 0, the frames of operations in step, and the heads
// of messages. The first byte selects which, the second the bytes per read.

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "tests/fuzz/fuzz.h"
#include "trainers/collective/hello.h"
#include "trainers/collective/link.h"
#include "trainers/collective/message_link.h"
#include "trainers/collective/reception.h"

namespace {

using namespace winnow;

// Two connected sockets, as two ranks have them.
struct Pair {
  Pair() {
    int fds[2];
    fuzz::Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0,
                  "sockets can be made");
    near = Socket(fds[0]);
    far = Socket(fds[1]);
  }
  // What fits; the rest of the stream is not sent.
  void Send(std::string_view bytes) const {
    if (!bytes.empty()) (void)!send(far.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  Socket near, far;
};

// A listener of which one connection is waiting, that has sent `bytes`.
void SayHello(std::string_view bytes, size_t piece) {
  static const Socket listener = *ListenAt({LoopbackAddress(), 0});
  int64_t received = 0;
  Reception reception(&listener, nullptr, [&](const Hello& hello, Socket* socket) {
    fuzz::Require(hello.magic == kHelloMagic && socket->is_open(), "a visitor has said hello");
    fuzz::Require(GroupText(hello.group).size() <= hello.group.size(), "the group's name ends");
    ++received;
  });
  const Deadline soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const Socket visitor = *ConnectTo(OwnEndpoint(listener), soon);
  const linger reset{1, 0};  // so that ports are free again at once
  setsockopt(visitor.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  const std::string_view first = bytes.substr(0, piece), rest = bytes.substr(first.size());
  if (!first.empty()) (void)!send(visitor.fd(), first.data(), first.size(), MSG_NOSIGNAL);
  reception.Await({}, soon);
  if (!rest.empty() && send(visitor.fd(), rest.data(), rest.size(), MSG_NOSIGNAL) > 0)
    reception.Await({}, std::chrono::steady_clock::now());
  fuzz::Require(received <= 1, "a visitor is received once");
}

void Operate(fuzz::Input input, size_t piece) {
  Pair pair;
  Link link(std::move(pair.near));
  constexpr Sink::Kind kKinds[] = {Sink::kCopy, Sink::kSum32, Sink::kSum64, Sink::kMax64, Sink::kText};
  const Sink::Kind kind = kKinds[input.Below(std::size(kKinds))];
  std::vector<uint64_t> words(input.Below(64));
  std::string text;
  Frame about;
  about.operation = input.Number();
  about.sequence = input.Number();
  Sink sink{kind, reinterpret_cast<std::byte*>(words.data()), words.size() * sizeof(uint64_t), &text};
  if (kind == Sink::kText) sink.data = nullptr, sink.size = 0;
  link.Expect(about, sink);
  while (!input.empty()) {
    pair.Send(input.Take(piece));
    link.Read();
    fuzz::Require(text.size() <= size_t{1} << 20, "room is made as bytes come");
  }
  pair.far.Close();
  link.Read();
  link.Drain();
  fuzz::Require(link.ended(), "the end is seen");
}

void Message(fuzz::Input input, size_t piece) {
  Pair pair;
  MessageLink link(std::move(pair.near));
  size_t came = 0;
  const size_t sent = input.rest().size();
  const auto deliver = [&](const MessageHead& head, std::string bytes) {
    came += bytes.size();
    return head.kind != MessageKind::kTaken || link.Taken(head.size);
  };
  bool garbage = false;
  while (!input.empty() && !garbage) {
    pair.Send(input.Take(piece));
    garbage = link.Read(deliver) == MessageLink::Heard::kGarbage;
  }
  pair.far.Close();
  while (!garbage && !link.ended()) garbage = link.Read(deliver) == MessageLink::Heard::kGarbage;
  fuzz::Require(came <= sent, "no more is delivered than was sent");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint32_t what = input.Below(8);
  const size_t piece = 1 + input.Number() * size_t{8};
  if (what == 0) {
    SayHello(input.rest(), piece);
  } else if (what % 2 == 1) {
    Operate(input, piece);
  } else {
    Message(input, piece);
  }
  return 0;
}
