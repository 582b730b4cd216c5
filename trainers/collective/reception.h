#pragma once

#include <functional>
#include <list>
#include <span>
#include <vector>

#include "trainers/collective/hello.h"
#include "trainers/collective/socket.h"

namespace winnow {

// Takes in the ranks of a group at a listening socket. Whoever says nothing, or something else than a hello,
// is shown out and holds up nobody.
class Reception {
 public:
  // What to do with who says hello: nothing may be assumed of the hello but its magic. The socket is taken by
  // moving it; else the connection is closed.
  using Visitor = std::function<void(const Hello& hello, Socket* socket)>;

  // `listener` and `guests`, the connections of ranks that have come, stay with the caller.
  Reception(const Socket* listener, Visitor visitor) : listener_(listener), visitor_(std::move(visitor)) {}

  // Waits for the next event, visitors or the deadline, and receives who has come; or returns the number of a
  // guest whose connection has ended, else -1.
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
  std::list<Visit> visits_;  // that have not said all
};

}  // namespace winnow
