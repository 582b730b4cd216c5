#include "trainers/collective/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "trainers/collective/group_error.h"
#include "trainers/collective/hello.h"
#include "trainers/collective/link.h"
#include "trainers/collective/mesh.h"
#include "trainers/collective/reception.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Pauses between attempts to reach rank 0, which may start last, and to bind a port of another group.
constexpr milliseconds kFirstRetry(5), kLastRetry(200);

// How late rank 0's message may be.
constexpr std::chrono::seconds kMasterGrace(5);

class Retry {
 public:
  explicit Retry(Deadline deadline) : deadline_(deadline) {}
  // False at the deadline.
  bool Wait() {
    const auto now = steady_clock::now();
    if (now >= deadline_) return false;
    std::this_thread::sleep_for(std::min<steady_clock::duration>(pause_, deadline_ - now));
    pause_ = std::min(pause_ * 2, kLastRetry);
    return true;
  }

 private:
  const Deadline deadline_;
  milliseconds pause_ = kFirstRetry;
};

double Seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000; }

std::string Message(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

bool OnlyThisMachine(const RankOptions& options) {
  if (options.master_address == "localhost") return true;
  const bool literal = options.master_address.find_first_not_of("0123456789.") == std::string::npos;
  const absl::StatusOr<uint32_t> address =
      literal ? ResolveHost(options.master_address) : absl::StatusOr<uint32_t>(absl::NotFoundError(""));
  return address.ok() && IsLoopback(*address);
}

// One rank's part in the rendezvous.
class Meeting {
 public:
  explicit Meeting(const RankOptions& options)
      : options_(options),
        deadline_(steady_clock::now() + options.rendezvous_patience),
        sockets_(options.size),
        endpoints_(options.size) {}

  absl::Status Host(Socket listener);
  absl::Status Attend();
  std::vector<Socket> TakeSockets() { return std::move(sockets_); }

  // Sends the reason for giving up to the connected ranks, in frames that an operation understands.
  void TellConnected(const absl::Status& error);

 private:
  uint32_t ListenAddress() const;
  absl::Status ListenAsMaster(Socket* listener);
  void Receive(const Hello& hello, Socket* socket);
  absl::Status GatherRanks(const Socket& listener);
  void TellGathered(const absl::Status& status);

  absl::Status ReachMaster(int own_port);
  absl::Status Introduce(Socket master, int own_port, bool* again);
  absl::Status ReadGathered(const Socket& master);

  const RankOptions& options_;
  Deadline deadline_;                // of the current step
  std::vector<Socket> sockets_;      // by rank
  std::vector<Endpoint> endpoints_;  // by rank: where it listens; address 0: on the master's machine
  uint32_t master_ = 0;              // the master's address, as seen from this rank
};

uint32_t Meeting::ListenAddress() const {
  constexpr uint32_t kAnyAddress = 0;
  if (!OnlyThisMachine(options_)) return kAnyAddress;
  return *ResolveHost(options_.master_address);
}

absl::Status Meeting::ListenAsMaster(Socket* listener) {
  for (Retry retry(deadline_);;) {
    absl::StatusOr<Socket> made = ListenAt({ListenAddress(), options_.master_port});
    if (made.ok()) {
      *listener = *std::move(made);
      return absl::OkStatus();
    }
    if (made.status().code() != absl::StatusCode::kUnavailable || !retry.Wait()) return made.status();
  }
}

// Handles a hello at rank 0.
void Meeting::Receive(const Hello& hello, Socket* socket) {
  Welcome welcome;
  welcome.size = static_cast<uint32_t>(options_.size);
  welcome.group = GroupField(options_.group);
  const bool known = hello.rank > 0 && hello.rank < welcome.size;
  if (hello.version != kHelloVersion)
    welcome.verdict = Welcome::kOtherVersion;
  else if (hello.group != welcome.group)
    welcome.verdict = Welcome::kOtherGroup;
  else if (hello.size != welcome.size || !known)
    welcome.verdict = Welcome::kOtherSize;
  else if (sockets_[hello.rank].is_open())
    welcome.verdict = Welcome::kRankTaken;
  // A new connection always accepts its first bytes.
  const bool told = SendAll(*socket, &welcome, sizeof welcome, steady_clock::now()).ok();
  if (!told || welcome.verdict != Welcome::kWelcome) return;
  const Endpoint peer = PeerEndpoint(*socket);
  endpoints_[hello.rank] = {IsLoopback(peer.address) ? 0 : peer.address, static_cast<int>(hello.port)};
  sockets_[hello.rank] = std::move(*socket);
}

absl::Status Meeting::GatherRanks(const Socket& listener) {
  Reception reception(&listener, options_.identity,
                      [this](const Hello& hello, Socket* socket) { Receive(hello, socket); });
  while (!MissingRanks(sockets_, 1).empty()) {
    if (steady_clock::now() >= deadline_)
      return DidNotCome(options_, MissingRanks(sockets_, 1), reception.refused());
    const int ended = reception.Await(sockets_, deadline_);
    if (ended >= 0) return IsGone(ended, "connection closed");
  }
  return absl::OkStatus();
}

void Meeting::TellGathered(const absl::Status& status) {
  const std::string message = Message(status);
  Gathered gathered{static_cast<uint32_t>(status.code()), static_cast<uint32_t>(message.size())};
  if (status.ok()) gathered.length = static_cast<uint32_t>(endpoints_.size() * sizeof(Endpoint));
  const void* const data = status.ok() ? static_cast<const void*>(endpoints_.data()) : message.data();
  for (const Socket& socket : sockets_) {
    if (!socket.is_open()) continue;
    // The first operation detects a rank that has gone.
    if (SendAll(socket, &gathered, sizeof gathered, deadline_).ok())
      SendAll(socket, data, gathered.length, deadline_).IgnoreError();
  }
}

absl::Status Meeting::Host(Socket listener) {
  if (!listener.is_open()) {
    if (absl::Status status = ListenAsMaster(&listener); !status.ok()) return status;
  }
  const absl::Status gathered = GatherRanks(listener);
  TellGathered(gathered);
  return gathered;
}

absl::Status Meeting::ReachMaster(int own_port) {
  absl::Status last;
  bool again = true;
  for (Retry retry(deadline_); again;) {
    const absl::StatusOr<uint32_t> address = ResolveHost(options_.master_address);
    last = address.status();
    if (address.ok()) {
      master_ = *address;
      absl::StatusOr<Socket> master = ConnectTo({*address, options_.master_port}, deadline_);
      last = master.status();
      if (master.ok()) last = Introduce(*std::move(master), own_port, &again);
      if (last.ok() || !again) return last;
    }
    if (!retry.Wait()) break;
  }
  return absl::DeadlineExceededError(fmt::format("rank 0 is not at {}:{} within {} s; the last attempt: {}",
                                                 options_.master_address, options_.master_port,
                                                 Seconds(options_.rendezvous_patience), Message(last)));
}

// Says hello to the listener at the master's port; sets *again if another one may listen there later.
absl::Status Meeting::Introduce(Socket master, int own_port, bool* again) {
  const Hello hello = HelloOf(options_, own_port);
  Welcome welcome;
  *again = true;
  absl::Status status = Secure(options_.identity, 0, &master, deadline_);
  if (status.ok()) status = SendAll(master, &hello, sizeof hello, deadline_);
  if (status.ok()) status = ReceiveAll(master, &welcome, sizeof welcome, deadline_);
  if (absl::IsPermissionDenied(status)) {
    *again = false;
    return IsGone(0, Message(status));
  }
  if (!status.ok()) return status;
  if (welcome.magic != kHelloMagic) return absl::UnavailableError("the port is not one of Winnow's");
  switch (welcome.verdict) {
    case Welcome::kOtherGroup:
      return absl::UnavailableError(
          fmt::format("there is group {}, not {}", GroupText(welcome.group), options_.group));
    case Welcome::kWelcome:
      break;
    case Welcome::kOtherVersion:
      *again = false;
      return absl::FailedPreconditionError(
          fmt::format("rank 0 speaks version {} of the ranks' protocol, rank {} {}", welcome.version,
                      options_.rank, kHelloVersion));
    case Welcome::kOtherSize:
      *again = false;
      return absl::InvalidArgumentError(fmt::format("rank 0 expects {} ranks, rank {} says {}", welcome.size,
                                                    options_.rank, options_.size));
    default:
      *again = false;
      return absl::InvalidArgumentError(fmt::format("rank {} is there already", options_.rank));
  }
  *again = false;
  status = ReadGathered(master);
  if (status.ok()) sockets_[0] = std::move(master);
  return status;
}

absl::Status Meeting::ReadGathered(const Socket& master) {
  // Rank 0, present before the welcome, reports missing ranks at its own deadline.
  deadline_ = steady_clock::now() + options_.rendezvous_patience + kMasterGrace;
  Gathered gathered;
  absl::Status status = ReceiveAll(master, &gathered, sizeof gathered, deadline_);
  std::string bytes;
  if (status.ok()) {
    const std::size_t whole = endpoints_.size() * sizeof(Endpoint);
    bytes.resize(std::min<std::size_t>(gathered.length, std::max(whole, kLongestReason)));
    status = ReceiveAll(master, bytes.data(), bytes.size(), deadline_);
    if (status.ok() && gathered.code != 0)
      return absl::Status(static_cast<absl::StatusCode>(gathered.code), bytes);
    if (status.ok() && bytes.size() != whole)
      status = absl::InternalError("its list of ranks has another size");
  }
  if (status.code() == absl::StatusCode::kDeadlineExceeded)
    return StandsStill(0, "the rendezvous", options_.rendezvous_patience);
  if (!status.ok()) return IsGone(0, Message(status));
  std::memcpy(endpoints_.data(), bytes.data(), bytes.size());
  deadline_ = steady_clock::now() + options_.rendezvous_patience;
  return status;
}

absl::Status Meeting::Attend() {
  absl::StatusOr<Socket> listener = ListenAt({ListenAddress(), 0});
  if (!listener.ok()) return listener.status();
  absl::Status status = ReachMaster(OwnEndpoint(*listener).port);
  if (!status.ok()) return status;
  for (Endpoint& at : endpoints_) {
    if (at.address == 0) at.address = master_;
  }
  return ConnectMesh(options_, endpoints_, *listener, deadline_, &sockets_);
}

void Meeting::TellConnected(const absl::Status& error) {
  Frame last;
  last.kind = FrameKind::kFail;
  last.param = static_cast<uint64_t>(error.code());
  for (Socket& socket : sockets_) {
    if (!socket.is_open()) continue;
    Link link(std::move(socket));
    link.Finish(last, Message(error));
    link.Write();
    link.EndSending();
  }
}

}  // namespace

absl::StatusOr<std::vector<Socket>> Rendezvous(const RankOptions& options, Socket listener) {
  Meeting meeting(options);
  const absl::Status status = options.rank == 0 ? meeting.Host(std::move(listener)) : meeting.Attend();
  if (status.ok()) return meeting.TakeSockets();
  if (options.rank != 0) meeting.TellConnected(status);
  return status;
}

}  // namespace winnow
