#pragma once

#include <memory>
#include <optional>

namespace winnow {

// A port on which a trainer of this host may listen. While the lease lives no other worker of the host (of its network
// namespace) takes the same port: the lease is an abstract unix socket whose name has the port's number.
class PortLease {
 public:
  // Of ports first … first + count - 1, the first that is neither leased nor listened at. Absent: there is none.
  static std::optional<PortLease> Take(int first, int count);
  // Any that the system says is free. Absent: it has none to give.
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
