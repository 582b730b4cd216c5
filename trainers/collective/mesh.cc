#include "trainers/collective/mesh.h"

#include <sys/random.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "trainers/collective/group_error.h"
#include "trainers/collective/hello.h"
#include "trainers/collective/link.h"
#include "trainers/collective/reception.h"

namespace winnow {
namespace {

absl::Status ConnectBelow(const RankOptions& options, std::span<const Endpoint> endpoints, Deadline deadline,
                          std::vector<Socket>* sockets) {
  for (int r = 0; r < options.rank; ++r) {
    if ((*sockets)[r].is_open()) continue;
    absl::StatusOr<Socket> socket = ConnectTo(endpoints[r], deadline);
    const Hello hello = HelloOf(options, 0);
    absl::Status status = socket.status();
    if (status.ok()) status = Secure(options.identity, r, &*socket, deadline);
    if (status.ok()) status = SendAll(*socket, &hello, sizeof hello, deadline);
    if (!status.ok()) {
      const std::string why(status.message().data(), status.message().size());
      return OfRank(options.rank, absl::UnavailableError(fmt::format("cannot reach rank {} at {}: {}", r,
                                                                     ToText(endpoints[r]), why)));
    }
    (*sockets)[r] = *std::move(socket);
  }
  return absl::OkStatus();
}

// A rank's description of itself. Integers are little-endian.
struct Card {
  uint32_t port = 0;
  std::array<uint8_t, 16> word{};  // random; that of rank 0 is the group's
};

bool StaysOnThisMachine(const Communicator& group) {
  for (int r = 0; r < group.size(); ++r) {
    if (!IsLoopback(group.AddressOf(r))) return false;
  }
  return true;
}

absl::Status Connect(Communicator* group, std::chrono::milliseconds patience, std::vector<Socket>* sockets) {
  constexpr uint32_t kAnyAddress = 0;
  const absl::StatusOr<Socket> listener =
      ListenAt({StaysOnThisMachine(*group) ? LoopbackAddress() : kAnyAddress, 0});
  if (!listener.ok()) return listener.status();
  Card mine;
  mine.port = static_cast<uint32_t>(OwnEndpoint(*listener).port);
  if (getrandom(mine.word.data(), mine.word.size(), 0) != static_cast<ssize_t>(mine.word.size()))
    return absl::InternalError("the system has no random bytes");
  const auto cards = group->AllGather(std::string_view(reinterpret_cast<const char*>(&mine), sizeof mine));
  if (!cards.ok()) return cards.status();
  std::vector<Endpoint> endpoints;
  RankOptions options;
  for (int r = 0; r < group->size(); ++r) {
    Card card;
    if ((*cards)[r].size() != sizeof card)
      return absl::InternalError(fmt::format("rank {} does not connect", r));
    std::memcpy(&card, (*cards)[r].data(), sizeof card);
    endpoints.push_back({group->AddressOf(r), static_cast<int>(card.port)});
    if (r == 0) options.group = fmt::format("messages {:02x}", fmt::join(card.word, ""));
  }
  options.rank = group->rank();
  options.size = group->size();
  options.identity = group->identity();
  options.rendezvous_patience = patience;
  return ConnectMesh(options, endpoints, *listener, std::chrono::steady_clock::now() + patience, sockets);
}

}  // namespace

std::vector<int> MissingRanks(std::span<const Socket> sockets, int first) {
  std::vector<int> missing;
  for (int r = first; r < static_cast<int>(sockets.size()); ++r) {
    if (!sockets[r].is_open()) missing.push_back(r);
  }
  return missing;
}

absl::Status DidNotCome(const RankOptions& options, const std::vector<int>& missing,
                        const std::string& refused) {
  return absl::DeadlineExceededError(fmt::format(
      "{} {} of {} did not come within {} s{}{}", missing.size() == 1 ? "rank" : "ranks",
      fmt::join(missing, ", "), options.size, static_cast<double>(options.rendezvous_patience.count()) / 1000,
      refused.empty() ? "" : "; refused: ", refused));
}

absl::Status ConnectMesh(const RankOptions& options, std::span<const Endpoint> endpoints,
                         const Socket& listener, Deadline deadline, std::vector<Socket>* sockets) {
  if (absl::Status status = ConnectBelow(options, endpoints, deadline, sockets); !status.ok()) return status;
  const Hello mine = HelloOf(options, 0);
  Reception reception(&listener, options.identity, [&](const Hello& hello, Socket* socket) {
    const bool belongs = hello.version == mine.version && hello.group == mine.group &&
                         hello.size == mine.size && hello.rank > mine.rank && hello.rank < mine.size;
    if (belongs && !(*sockets)[hello.rank].is_open()) (*sockets)[hello.rank] = std::move(*socket);
  });
  while (!MissingRanks(*sockets, options.rank + 1).empty()) {
    if (std::chrono::steady_clock::now() >= deadline)
      return DidNotCome(options, MissingRanks(*sockets, options.rank + 1), reception.refused());
    const int ended = reception.Await(*sockets, deadline);
    if (ended < 0) continue;
    // It may have sent the reason.
    Link link(std::move((*sockets)[ended]));
    link.Drain();
    return link.peer_error().ok() ? IsGone(ended, link.why()) : link.peer_error();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Socket>> ConnectAgain(Communicator* group, std::chrono::milliseconds patience) {
  std::vector<Socket> sockets(group->size());
  if (group->size() == 1) return sockets;
  if (absl::Status status = Connect(group, patience, &sockets); !status.ok()) group->Fail(status);
  // A barrier: all are connected, and every rank learns of a failure.
  const auto all = group->AllGather("");
  if (!all.ok()) return all.status();
  return sockets;
}

}  // namespace winnow
