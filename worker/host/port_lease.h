#pragma once

#include <memory>
#include <optional>

namespace winnow {

// A port on which a trainer of this host may listen. During the lease, no other worker of the host (of its
// network namespace) takes the port: the lease is an abstract unix socket named after it.
class PortLease {
 public:
  // Takes the first of the ports first … first + count - 1 without lease and listener. Absent: none.
  static std::optional<PortLease> Take(int first, int count);
  // Takes any port that the system says is free. Absent: none.
  static std::optional<PortLease> TakeAny();

  PortLease(PortLease&& other) noexcept;
  PortLease& operator=(PortLease&& other) noexcept;
  ~PortLease();

  int port() const { return port_; }

 private:
  PortLease(int port, int fd) : port_(port), fd_(fd) {}
  int port_;
  int fd_;
};

}  // namespace winnow
