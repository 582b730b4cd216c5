#pragma once

#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"

namespace winnow {

// Limits of connections without an admitted call ("strangers"). gRPC 1.51 itself bounds neither the number of
// connections nor, for a peer that does not acknowledge its settings, the headers of a connection, which take
// a hundred times their bytes.
struct GateLimits {
  size_t connections = 4'000;  // all connections; also at most a quarter of the process's file limit
  size_t strangers = 500;      // connections without an admitted call; beyond it the oldest is ended
  std::chrono::milliseconds patience{30'000};  // until the first admitted call
  int64_t bytes = 17 << 20;      // received from one stranger: the largest message of a first call
  int64_t all_bytes = 24 << 20;  // received from all strangers
  // Heap growth allowed while strangers send, beside `heap_factor` times the bytes they sent. Above it those
  // that sent most are ended.
  int64_t heap = 24 << 20;
  int64_t heap_factor = 4;
  int64_t few_bytes = 64 << 10;  // a stranger that sent no more than this is not suspected
};

// Listens for gRPC over TCP, hands connections over to it, and ends those that use too much before an
// admitted call. It watches each through a second descriptor. Thread-safe.
class Gate {
 public:
  // `address`: HOST:PORT; port 0: chosen by the system; 0.0.0.0 and [::] mean both families. UNAVAILABLE: it
  // cannot be bound.
  static absl::StatusOr<std::unique_ptr<Gate>> Listen(const std::string& address, const GateLimits& limits);
  ~Gate();

  int port() const { return port_; }
  // Accepts connections from now on. REQUIRES: the server of `acceptor` runs until Close.
  void Open(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  // Stops accepting and ending connections; closes the port.
  void Close();
  // A call over the connection of `peer` (gRPC's form) was admitted: it is no stranger any more.
  void Admit(std::string_view peer);

 private:
  struct Connection {
    uint64_t number = 0;
    int socket = -1;  // a second descriptor of it
    bool stranger = true;
    int64_t bytes = 0;  // received up to the last look
    std::chrono::steady_clock::time_point since;
  };
  using Connections = std::map<std::string, Connection>;  // by peer

  explicit Gate(const GateLimits& limits);
  absl::Status Bind(const std::string& host, int port, bool both_families);
  void Run();
  // Watches the listeners, or no longer.
  void WatchListeners(bool watched);
  void AcceptFrom(int listener);
  void HandOn(int socket);
  void HandOver();
  void Event(uint64_t number, uint32_t events);
  void EndOldStrangers();
  void EndGreedyStrangers();
  // Ends some strangers if limits require it. Returns true if no stranger has sent more than `few_bytes`.
  bool LookAtStrangers(std::chrono::steady_clock::time_point now);
  std::chrono::milliseconds UntilNext() const;
  void Forget(Connections::iterator connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Connections::iterator Greediest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  GateLimits limits_;
  int port_ = 0;
  int epoll_ = -1;
  int wake_ = -1;
  std::vector<int> listeners_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::atomic<bool> closing_ = false;
  std::atomic<size_t> strangers_ = 0;
  mutable Mutex mutex_;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::string> peers_ ABSL_GUARDED_BY(mutex_);                // by number
  std::map<uint64_t, std::string> strangers_by_number_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  uint64_t next_ = 0;  // number of the next connection
  // Used by the thread alone:
  bool accepts_ = true;  // false: no descriptor was free, so the listeners are not watched…
  std::chrono::steady_clock::time_point accept_again_;  // …until this time, or until a connection has closed
  bool suspicion_ = false;                              // a stranger has sent more than `few_bytes`
  bool ended_some_ = false;                             // its memory may not have been released yet
  int64_t calm_heap_ = 0;                               // heap in use before the suspicion
  std::chrono::steady_clock::time_point looked_;
  std::chrono::steady_clock::time_point calm_from_;  // when the memory should have been released
  CondVar handed_;
  std::deque<std::pair<uint64_t, int>> accepted_
      ABSL_GUARDED_BY(mutex_);                    // numbers and sockets to hand to gRPC
  uint64_t handing_ ABSL_GUARDED_BY(mutex_) = 0;  // the number being handed to gRPC, 0: none
  std::thread thread_;                            // accepts, and watches
  std::thread hand_over_;
};

}  // namespace winnow
