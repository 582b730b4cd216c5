#pragma once

#include <functional>
#include <list>
#include <span>
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
  Reception(const Socket* listener, Visitor visitor) : listener_(listener), visitor_(std::move(visitor)) {}

  // Waits for the next event (peers or the deadline) and handles those that have come. Returns the index of a
  // guest whose connection has ended, otherwise -1.
  int Await(std::span<const Socket> guests, Deadline deadline);

 private:
  struct Visit {
    Socket socket;
    Deadline until;
    Hello hello;
    std::size_t received = 0;
  };

  bool Listen(Visit* visit);  // false: it is over

  const Socket* const listener_;
  const Visitor visitor_;
  std::list<Visit> visits_;  // connections with an incomplete hello
};

}  // namespace winnow
