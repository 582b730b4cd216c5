#pragma once

#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// What connections may take before a call of theirs was admitted. gRPC 1.51 itself bounds neither how many connections
// there are nor, for a peer that does not acknowledge its settings, the headers of a connection, which take a hundred times
// their bytes.
struct GateLimits {
  size_t connections = 4'000;  // of all; and no more than a quarter of the files that the process may open
  size_t strangers = 500;      // of those without an admitted call: beyond it the oldest of them is ended
  std::chrono::milliseconds patience{30'000};  // until the first admitted call
  int64_t bytes = 17 << 20;                    // received of one stranger: its first call's message at its largest
  int64_t all_bytes = 24 << 20;                // of all strangers
  // Heap that may be taken while strangers send, beside `heap_factor` times what they sent. Above it those that sent most
  // are ended.
  int64_t heap = 24 << 20;
  int64_t heap_factor = 4;
  int64_t few_bytes = 64 << 10;  // a stranger that sent no more is not suspected
};

// Listens for gRPC over TCP, hands connections on to it, and ends those that take too much without being let in. It watches
// each through a second descriptor. Thread-safe.
class Gate {
 public:
  // `address`: HOST:PORT, port 0: chosen by the system; 0.0.0.0 and [::] stand for both families. UNAVAILABLE: it cannot be
  // had.
  static absl::StatusOr<std::unique_ptr<Gate>> Listen(const std::string& address, const GateLimits& limits);
  ~Gate();

  int port() const { return port_; }
  // From now on connections are accepted. REQUIRES the server of `acceptor` runs until Close.
  void Open(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  // Nothing is accepted or ended any more; the port is given back.
  void Close();
  // A call over the connection of `peer`, as gRPC writes it, was admitted: it is no stranger any more.
  void Admit(std::string_view peer);

 private:
  struct Connection {
    uint64_t number = 0;
    int socket = -1;  // a second descriptor of it
    bool stranger = true;
    int64_t bytes = 0;  // received, as of the last look
    std::chrono::steady_clock::time_point since;
  };
  using Connections = std::map<std::string, Connection>;  // by peer

  explicit Gate(const GateLimits& limits);
  absl::Status Bind(const std::string& host, int port, bool both_families);
  void Run();
  void AcceptFrom(int listener);
  void HandOn(int socket);
  void HandOver();
  void Event(uint64_t number, uint32_t events);
  void EndOldStrangers();
  void EndGreedyStrangers();
  // Ends some if that is due. True: none sent more than little.
  bool LookAtStrangers(std::chrono::steady_clock::time_point now);
  std::chrono::milliseconds UntilNext() const;
  // All that follow REQUIRE the lock.
  void Forget(Connections::iterator connection);
  void End(Connection& connection);
  Connections::iterator Greediest();

  GateLimits limits_;
  int port_ = 0;
  int epoll_ = -1;
  int wake_ = -1;
  std::vector<int> listeners_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::atomic<bool> closing_ = false;
  std::atomic<size_t> strangers_ = 0;
  mutable std::mutex mutex_;
  Connections connections_;                             // guarded by mutex_
  std::map<uint64_t, std::string> peers_;               // guarded by mutex_; by number
  std::map<uint64_t, std::string> strangers_by_number_;  // guarded by mutex_; the oldest first
  uint64_t next_ = 0;                                   // of a connection
  // The thread's own:
  bool suspicion_ = false;  // strangers sent more than little
  bool ended_some_ = false;  // and what they took may not have been given back
  int64_t calm_heap_ = 0;    // heap in use before
  std::chrono::steady_clock::time_point looked_;
  std::chrono::steady_clock::time_point calm_from_;  // when it will have been
  std::condition_variable handed_;
  std::deque<std::pair<uint64_t, int>> accepted_;  // guarded by mutex_; numbers and sockets that gRPC is to have
  uint64_t handing_ = 0;                           // guarded by mutex_; the one that gRPC is being given, 0: none
  std::thread thread_;                             // accepts, and watches
  std::thread hand_over_;
};

}  // namespace winnow
