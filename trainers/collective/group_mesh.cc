#include "trainers/collective/group_mesh.h"

#include <sys/random.h>

#include <array>
#include <cstring>
#include <string>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "trainers/collective/mesh.h"

namespace winnow {
namespace {

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
  options.rendezvous_patience = patience;
  return ConnectMesh(options, endpoints, *listener, std::chrono::steady_clock::now() + patience, sockets);
}

}  // namespace

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
