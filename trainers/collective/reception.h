#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainers/collective/hello.h"
#include "trainers/collective/socket.h"

namespace winnow {

// Accepts the ranks of a group at a listening socket. A peer that sends nothing, or something other than a
// hello, is disconnected and does not block the others.
class Reception {
 public:
  // Handles a hello, of which only the magic is checked. Takes the socket by moving it; otherwise the
  // connection is closed.
  using Visitor = std::function<void(const Hello& hello, Socket* socket)>;

  // The caller keeps `listener` and `guests`, the connections of accepted ranks.
  // `identity`: peers must talk TLS and have the certificate of the rank that they say they are; null: plain
  // text.
  Reception(const Socket* listener, std::shared_ptr<const RankIdentity> identity, Visitor visitor)
      : listener_(listener), identity_(std::move(identity)), visitor_(std::move(visitor)) {}

  // Waits for the next event (peers or the deadline) and handles those that have come. Returns the index of a
  // guest whose connection has ended, otherwise -1.
  int Await(std::span<const Socket> guests, Deadline deadline);

  // Who was refused last over TLS and why, "10.0.0.7:43210: it shows no certificate"; "": nobody.
  const std::string& refused() const { return refused_; }

 private:
  struct Visit {
    Socket socket;
    Deadline until;
    Hello hello;
    std::size_t received = 0;
    bool shakes_hands = false;
    int16_t events = 0;  // to wait for
  };

  bool Listen(Visit* visit);  // false: it is over
  bool ShakeHands(Visit* visit);
  void Refuse(const Visit& visit, const std::string& why);

  const Socket* const listener_;
  const std::shared_ptr<const RankIdentity> identity_;  // null: plain text
  const Visitor visitor_;
  std::string refused_;
  std::list<Visit> visits_;  // connections with an incomplete hello
};

}  // namespace winnow
