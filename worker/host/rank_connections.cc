#include "worker/host/rank_connections.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace winnow {
namespace {

namespace fs = std::filesystem;

// States of proc(5), net/tcp, without a peer. CLOSE_WAIT had a peer and is not among them.
constexpr const char* kClosed = "07";
constexpr const char* kListening = "0A";

struct OpenDescriptors {
  std::set<uint64_t> sockets;  // inodes
  bool any = false;
  bool fast_network = false;  // an InfiniBand device, which bypasses the kernel's sockets
};

// False: access is denied.
bool ReadDescriptors(const fs::path& folder, OpenDescriptors* found) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error) return error == std::errc::no_such_file_or_directory || error == std::errc::no_such_process;
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone);
    if (gone) continue;
    found->any = true;
    if (target.starts_with("socket:[")) found->sockets.insert(std::strtoull(target.c_str() + 8, nullptr, 10));
    if (target.starts_with("/dev/infiniband/")) found->fast_network = true;
  }
  return true;
}

// Converts "ADDRESS:PORT" in hexadecimal; an IPv4 address mapped into IPv6 becomes the IPv4 address.
std::string Plain(std::string end) {
  constexpr std::string_view kMapped = "0000000000000000FFFF0000";
  if (end.starts_with(kMapped)) end.erase(0, kMapped.size());
  return end;
}

struct SocketRow {
  std::string local, remote, state;
  uint64_t inode = 0;
};

void ReadSockets(const fs::path& table, std::vector<SocketRow>* rows) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    std::istringstream words(line);
    SocketRow row;
    std::string skipped;
    words >> skipped >> row.local >> row.remote >> row.state;
    for (int i = 0; i < 5; ++i) words >> skipped;  // queues, timer, retransmissions, user, time-out
    if (!(words >> row.inode)) continue;
    row.local = Plain(row.local);
    row.remote = Plain(row.remote);
    rows->push_back(std::move(row));
  }
}

}  // namespace

std::optional<bool> AreConnected(const std::vector<pid_t>& processes, const fs::path& proc) {
  OpenDescriptors own;
  fs::path net;
  for (const pid_t pid : processes) {
    const fs::path folder = proc / std::to_string(pid);
    if (!ReadDescriptors(folder / "fd", &own)) return std::nullopt;
    std::error_code ignored;
    if (net.empty() && fs::exists(folder / "net" / "tcp", ignored)) net = folder / "net";
  }
  if (!own.any || net.empty()) return std::nullopt;
  if (own.fast_network) return true;
  std::vector<SocketRow> datagrams, streams;
  for (const char* table : {"udp", "udp6"}) ReadSockets(net / table, &datagrams);
  for (const SocketRow& row : datagrams) {
    if (own.sockets.contains(row.inode)) return true;
  }
  for (const char* table : {"tcp", "tcp6"}) ReadSockets(net / table, &streams);
  std::map<std::pair<std::string, std::string>, uint64_t> by_ends;
  for (const SocketRow& row : streams) by_ends[{row.local, row.remote}] = row.inode;
  for (const SocketRow& row : streams) {
    if (!own.sockets.contains(row.inode)) continue;
    if (row.state == kClosed || row.state == kListening) continue;
    const auto other = by_ends.find({row.remote, row.local});
    if (other == by_ends.end() || !own.sockets.contains(other->second)) return true;
  }
  return false;
}

}  // namespace winnow
