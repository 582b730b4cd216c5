#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace winnow::mlp {

// The messages between workers and servers of an asynchronous parameter server: a header and floats.
constexpr uint32_t kPushTag = 1;  // worker to server: PushHeader, gradient of the server's run
constexpr uint32_t kPullTag = 2;  // server to worker: PullHeader, the run's newest parameters

struct PushHeader {
  int64_t step = 0;         // the worker's, from 0 where training began
  int64_t epoch_steps = 0;  // of this worker
  int64_t version = 0;      // of the parameters at which the gradient was computed
  int64_t last = 0;         // 1: the worker's last of this epoch, which is not answered
};

struct PullHeader {
  int64_t version = 0;
};

template <typename Header>
std::string MessageOf(const Header& header, std::span<const float> values) {
  std::string bytes(sizeof(Header) + values.size_bytes(), '\0');
  std::memcpy(bytes.data(), &header, sizeof(Header));
  std::memcpy(bytes.data() + sizeof(Header), values.data(), values.size_bytes());
  return bytes;
}

// False if `bytes` is not a header and values.size() floats.
template <typename Header>
bool ReadMessage(const std::string& bytes, Header* header, std::span<float> values) {
  if (bytes.size() != sizeof(Header) + values.size_bytes()) return false;
  std::memcpy(header, bytes.data(), sizeof(Header));
  std::memcpy(values.data(), bytes.data() + sizeof(Header), values.size_bytes());
  return true;
}

}  // namespace winnow::mlp
