#include "worker/host/own_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/environment.h"
#include "rpc/address.h"

namespace winnow {
namespace {

// Empty: no route to it.
std::string AddressTowards(const addrinfo& target) {
  const int fd = socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  const bool found = connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                     getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr,
                                 0, NI_NUMERICHOST) == 0;
  close(fd);
  return found ? text.data() : "";
}

}  // namespace

std::string OwnAddressTowards(const std::string& server) {
  const auto addresses = ParseAddresses(server);
  if (!addresses.ok()) return "";
  const auto address = std::find_if(addresses->begin(), addresses->end(),
                                    [](const Address& one) { return one.kind == Address::Kind::kRemote; });
  if (address == addresses->end()) return "127.0.0.1";
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(address->host.c_str(), std::to_string(address->port).c_str(), &hints, &list) != 0)
    return "";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  for (const addrinfo* target = list; target != nullptr; target = target->ai_next) {
    if (const std::string own = AddressTowards(*target); !own.empty()) return own;
  }
  return "";
}

std::string LoopbackOf(const std::string& host) {
  if (!IsLoopbackHost(host)) return "";
  std::error_code error;
  const std::filesystem::path space = std::filesystem::read_symlink("/proc/self/ns/net", error);
  return BootId() + "\n" + space.string();
}

}  // namespace winnow
