#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "trainers/collective/tcp_ranks.h"

namespace winnow {

// The first message on a connection between two ranks. Integers are little-endian.
constexpr uint64_t kHelloMagic = 0x6b6e61726e697701;  // no text protocol begins with the byte 1
constexpr uint32_t kHelloVersion = 1;
constexpr std::size_t kLongestGroup = 127;

struct Hello {
  uint64_t magic = kHelloMagic;
  uint32_t version = kHelloVersion;
  uint32_t rank = 0;
  uint32_t size = 0;
  uint32_t port = 0;  // where the rank listens for others
  std::array<char, kLongestGroup + 1> group{};
};

// Rank 0's answer.
struct Welcome {
  enum Verdict : uint32_t { kWelcome, kOtherVersion, kOtherGroup, kOtherSize, kRankTaken };
  uint64_t magic = kHelloMagic;
  uint32_t version = kHelloVersion;
  uint32_t verdict = kWelcome;
  uint32_t size = 0;
  uint32_t unused = 0;
  std::array<char, kLongestGroup + 1> group{};
};

// Follows the welcome when all ranks have come or one has gone: then come `length` bytes, an Endpoint for
// each rank, or the error's message.
struct Gathered {
  uint32_t code = 0;  // absl::StatusCode
  uint32_t length = 0;
};

inline std::array<char, kLongestGroup + 1> GroupField(std::string_view group) {
  std::array<char, kLongestGroup + 1> field{};
  std::memcpy(field.data(), group.data(), std::min(group.size(), field.size() - 1));
  return field;
}

inline std::string GroupText(const std::array<char, kLongestGroup + 1>& field) {
  return std::string(field.data(), strnlen(field.data(), field.size()));
}

inline Hello HelloOf(const RankOptions& options, int port) {
  Hello hello;
  hello.rank = static_cast<uint32_t>(options.rank);
  hello.size = static_cast<uint32_t>(options.size);
  hello.port = static_cast<uint32_t>(port);
  hello.group = GroupField(options.group);
  return hello;
}

}  // namespace winnow
